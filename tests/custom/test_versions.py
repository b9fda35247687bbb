"""Versions come, are deprecated, are no longer stored, and go."""

from typing import Any

import orjson
import pytest

from tests.custom.definitions import DEFINITIONS, GROUP, ROOT, WIDGETS, Crds, definition, version, widget
from tests.http.writing import CONFIGMAPS, Api

NAME = f"{DEFINITIONS}/widgets.{GROUP}"
WIDGETS2 = f"/apis/{GROUP}/v2/namespaces/default/widgets"
OLD = [
    '299 - "example.com/v1 Widget is deprecated; use example.com/v2 Widget"',
]


async def test_a_version_that_is_not_served_is_not_found(api: Api, crds: Crds) -> None:
    await crds.define(version(), version("v2", served=False))
    assert (await api.get(WIDGETS)).code == 200
    for reply in (await api.get(WIDGETS2), await api.post(WIDGETS2, widget(api_version=f"{GROUP}/v2"))):
        assert (reply.code, reply.content) == (404, b"404 page not found\n")
    assert (await api.get(f"/apis/{GROUP}/v2")).code == 404
    group = (await api.get(f"/apis/{GROUP}")).body
    assert [one["version"] for one in group["versions"]] == ["v1"]


async def test_who_uses_a_deprecated_version_is_warned_each_time(api: Api, crds: Crds) -> None:
    await crds.define(version(deprecated=True), version("v2"))
    made = await api.post(WIDGETS, widget(spec={"a": "x"}))
    replies = [
        made,
        await api.get(f"{WIDGETS}/w"),
        await api.get(WIDGETS),
        await api.put(f"{WIDGETS}/w", made.body),
        await api.patch(f"{WIDGETS}/w", {"spec": {"a": "y"}}),
        await api.get(f"{WIDGETS}?watch=true&resourceVersion=0&timeoutSeconds=1"),
        await api.delete(f"{WIDGETS}/w"),
    ]
    assert [reply.header("warning") for reply in replies] == [OLD] * len(replies)
    assert (await api.get(WIDGETS2)).header("warning") == []


async def test_a_deprecation_may_have_words_of_its_own(api: Api, crds: Crds) -> None:
    await crds.define(version(deprecated=True, deprecationWarning="move on"))
    assert (await api.get(WIDGETS)).header("warning") == ['299 - "move on"']


async def test_a_version_goes_when_nothing_is_stored_in_it_any_more(api: Api, crds: Crds) -> None:
    await crds.define()
    await api.post(WIDGETS, widget(spec={"a": "x"}))
    second = version("v2", storage=True)
    both = [version(storage=False), second]
    assert (await api.patch(NAME, {"spec": {"versions": both}})).code == 200
    refused = await api.patch(NAME, {"spec": {"versions": [second]}})
    assert (refused.code, refused.body["details"]["causes"][0]["field"]) == (422, "status.storedVersions[0]")
    await crds.wait_for(f"widgets.{GROUP}", lambda reply: b'"storedVersions":["v1","v2"]' in reply.content)
    found = await api.get(f"{WIDGETS2}/w")
    assert (await api.put(f"{WIDGETS2}/w", found.body)).code == 200
    migrated = await api.patch(f"{NAME}/status", {"status": {"storedVersions": ["v2"]}})
    assert migrated.body["status"]["storedVersions"] == ["v2"]
    assert (await api.patch(NAME, {"spec": {"versions": [second]}})).code == 200
    await crds.wait_for(f"widgets.{GROUP}", lambda reply: reply.body["metadata"]["generation"] == 3)
    while (await api.get(WIDGETS)).code != 404:
        pass
    assert (await api.get(f"{WIDGETS2}/w")).body["spec"] == {"a": "x"}


async def test_a_storage_version_that_is_not_served_is_stored_all_the_same(api: Api, crds: Crds) -> None:
    await crds.define(version(served=False), version("v2"))
    made = await api.post(WIDGETS2, widget(api_version=f"{GROUP}/v2", spec={"a": "x"}))
    assert (made.code, made.body["apiVersion"]) == (201, f"{GROUP}/v2")
    kv = await api.app.context.store.get(f"/registry/{GROUP}/widgets/default/w".encode())
    assert kv is not None and orjson.loads(kv.value)["apiVersion"] == f"{GROUP}/v1"


async def test_a_watch_by_a_selectable_field_tells_who_comes_and_goes(api: Api, crds: Crds) -> None:
    await crds.define(version(selectableFields=[{"jsonPath": ".spec.a"}]))
    made = await api.post(WIDGETS, widget(spec={"a": "x"}))
    await api.post(WIDGETS, widget("never", spec={"a": "z"}))
    for value in ("y", "x"):
        await api.patch(f"{WIDGETS}/w", {"spec": {"a": value}})
    await api.delete(f"{WIDGETS}/w")
    since = int(made.version) - 1
    asked = f"{WIDGETS}?watch=true&resourceVersion={since}&timeoutSeconds=1&fieldSelector=spec.a%3Dx"
    told = [orjson.loads(line) for line in (await api.get(asked)).content.splitlines()]
    names = [(one["type"], one["object"]["metadata"]["name"]) for one in told]
    assert names == [("ADDED", "w"), ("DELETED", "w"), ("ADDED", "w"), ("DELETED", "w")]


@pytest.mark.parametrize("name", ["v1", "v9"])
async def test_a_group_of_the_server_itself_keeps_its_paths(name: str, api: Api, crds: Crds) -> None:
    """As in the original, whose built-in groups claim all paths below them: the definition is established and not
    served."""
    made: dict[str, Any] = definition(version(name, storage=True), group="networking.k8s.io")
    made["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, a test"}
    assert (await api.post(DEFINITIONS, made)).code == 201
    await crds.wait_for("widgets.networking.k8s.io", lambda reply: b"InitialNamesAccepted" in reply.content)
    reply = await api.get(f"/apis/networking.k8s.io/{name}/widgets")
    assert (reply.code, reply.body["message"]) == (404, "the server could not find the requested resource")
    assert (await api.get("/apis/networking.k8s.io/v1/ingresses")).code == 200
    found = await api.get(f"{DEFINITIONS}/widgets.networking.k8s.io")
    kinds = {one["type"]: one["status"] for one in found.body["status"]["conditions"]}
    assert kinds["KubernetesAPIApprovalPolicyConformant"] == "False"
    assert (await api.delete(f"{DEFINITIONS}/widgets.networking.k8s.io")).code == 200
    await crds.wait_for("widgets.networking.k8s.io", lambda got: got.code == 404)


async def test_a_group_below_one_of_the_server_is_another_group(api: Api, crds: Crds) -> None:
    made: dict[str, Any] = definition(group="gateway.networking.k8s.io")
    made["metadata"]["annotations"] = {"api-approved.kubernetes.io": "https://github.com/kubernetes/x/pull/1"}
    assert (await api.post(DEFINITIONS, made)).code == 201
    name = "widgets.gateway.networking.k8s.io"
    await crds.wait_for(name, lambda reply: b"InitialNamesAccepted" in reply.content)
    found = await api.get(f"{DEFINITIONS}/{name}")
    kinds = {one["type"]: one["status"] for one in found.body["status"]["conditions"]}
    assert kinds["KubernetesAPIApprovalPolicyConformant"] == "True"
    assert (await api.get("/apis/gateway.networking.k8s.io/v1/widgets")).code == 200
    assert (await api.get(CONFIGMAPS)).code == 200
    assert (await api.get(ROOT)).code == 404
