"""Pods get a service account that exists, its pull secrets and its token."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from kinepy import open_store
from kinepy_server.context import Context
from kinepy_server.resources.builtins import builtin_registry
from tests.http.writing import CORE, Api, api_over, managers

PODS, ACCOUNTS = f"{CORE}/pods", f"{CORE}/serviceaccounts"
PLACE = "/var/run/secrets/kubernetes.io/serviceaccount"
Json = dict[str, Any]


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    """Serves; every namespace gets its account `default`."""
    async with (
        open_store("sqlite:///:memory:") as store,
        api_over(Context(store, builtin_registry()), controllers=["serviceaccounts"]) as found,
    ):
        yield found


def pod(*containers: Json, **spec: Any) -> Json:
    first = {"name": "c", "image": "i"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "x"},
        "spec": {"containers": [first, *containers], **spec},
    }


async def test_a_pod_gets_the_default_account_and_nobody_owns_what_it_brings(api: Api) -> None:
    init = [{"name": "first", "image": "i"}]
    reply = await api.post(PODS, pod(initContainers=init))
    spec = reply.body["spec"]
    assert (reply.code, spec["serviceAccountName"], spec["serviceAccount"]) == (201, "default", "default")
    (volume,) = spec["volumes"]
    assert volume["name"].startswith("kube-api-access-") and len(volume["name"]) == 21
    mount = {"name": volume["name"], "readOnly": True, "mountPath": PLACE}
    for container in (*spec["initContainers"], *spec["containers"]):
        assert container["volumeMounts"] == [mount]
    assert volume["projected"] == {
        "defaultMode": 420,
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}},
            {
                "downwardAPI": {
                    "items": [
                        {
                            "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                            "path": "namespace",
                        }
                    ]
                }
            },
        ],
    }
    owned = str(managers(reply))
    assert "kube-api-access" not in owned and "f:serviceAccount" not in owned


async def test_an_account_that_does_not_exist_is_403(api: Api) -> None:
    reply = await api.post(PODS, pod(serviceAccountName="nobody"))
    assert (reply.code, reply.body["reason"]) == (403, "Forbidden")
    assert reply.message == (
        'pods "x" is forbidden: error looking up service account default/nobody:'
        ' serviceaccount "nobody" not found'
    )


async def test_a_pod_that_is_applied_gets_its_account_too(api: Api) -> None:
    path = f"{PODS}/x?fieldManager=m"
    kind = "application/apply-patch+yaml"
    refused = await api.patch(path, pod(serviceAccountName="nobody"), content_type=kind)
    assert refused.code == 403
    applied = await api.patch(path, pod(), content_type=kind)
    assert (applied.code, applied.body["spec"]["serviceAccountName"]) == (201, "default")
    again = await api.patch(path, pod(), content_type=kind)
    assert (again.code, again.version) == (200, applied.version)


async def test_pull_secrets_are_copied_unless_the_pod_has_some(api: Api) -> None:
    account = {"metadata": {"name": "puller"}, "imagePullSecrets": [{"name": "s"}]}
    await api.post(ACCOUNTS, account)
    for own, wanted in (([], "s"), ([{"name": "mine"}], "mine")):
        asked = pod(serviceAccountName="puller", imagePullSecrets=own)
        reply = await api.post(f"{PODS}?dryRun=All", asked)
        assert reply.body["spec"]["imagePullSecrets"] == [{"name": wanted}]


@pytest.mark.parametrize(
    ("of_account", "of_pod", "mounted"),
    [(False, None, False), (True, False, False), (False, True, True), (None, None, True)],
)
async def test_the_token_is_mounted_unless_pod_or_account_say_no(
    api: Api, of_account: bool | None, of_pod: bool | None, mounted: bool
) -> None:
    account: Json = {"metadata": {"name": "a"}}
    if of_account is not None:
        account["automountServiceAccountToken"] = of_account
    await api.post(ACCOUNTS, account)
    asked = {} if of_pod is None else {"automountServiceAccountToken": of_pod}
    reply = await api.post(PODS, pod(serviceAccountName="a", **asked))
    assert ("volumes" in reply.body["spec"]) is mounted


async def test_what_is_mounted_in_the_tokens_place_stays(api: Api) -> None:
    own = {"name": "own", "mountPath": PLACE}
    busy = {"name": "busy", "image": "i", "volumeMounts": [own]}
    volumes = [{"name": "own", "emptyDir": {}}, {"name": "kube-api-access-mine", "emptyDir": {}}]
    spec = (await api.post(PODS, pod(busy, volumes=volumes))).body["spec"]
    assert [volume["name"] for volume in spec["volumes"]] == ["own", "kube-api-access-mine"]
    free, busy = spec["containers"]
    assert free["volumeMounts"][0]["name"] == "kube-api-access-mine"
    assert [mount["name"] for mount in busy["volumeMounts"]] == ["own"]


async def test_a_pod_in_a_new_namespace_waits_for_its_default_account(api: Api) -> None:
    await api.post("/api/v1/namespaces", {"metadata": {"name": "new"}})
    reply = await api.post("/api/v1/namespaces/new/pods", pod())
    assert (reply.code, reply.body["spec"]["serviceAccountName"]) == (201, "default")


async def test_where_nobody_makes_the_accounts_pods_get_none() -> None:
    async with (
        open_store("sqlite:///:memory:") as store,
        api_over(Context(store, builtin_registry())) as api,
    ):
        spec = (await api.post(PODS, pod())).body["spec"]
    assert "serviceAccountName" not in spec and "volumes" not in spec
