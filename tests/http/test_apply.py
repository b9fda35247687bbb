"""Server-side apply through the application: what is stored, who owns it, who is refused."""

import asyncio
from typing import Any

import orjson
import pytest

from tests.http.writing import CONFIGMAPS, CORE, MERGE, Api, Reply, configmap, managers

APPLY = "application/apply-patch+yaml"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


async def apply(api: Api, config: dict[str, Any], manager: str, *, query: str = "") -> Reply:
    """Apply a ConfigMap."""
    target = f"{CONFIGMAPS}/{config['metadata']['name']}?fieldManager={manager}{query}"
    return await api.patch(target, config, content_type=APPLY)


async def update(api: Api, patch: dict[str, Any], manager: str, *, target: str = f"{CONFIGMAPS}/a") -> Reply:
    return await api.patch(f"{target}?fieldManager={manager}", patch, content_type=MERGE)


async def test_what_is_applied_is_stored_and_owned(api: Api) -> None:
    assert (await apply(api, configmap(data={"k": "v"}), "m1")).code == 201
    assert (await apply(api, configmap(data={"j": "w"}), "m2")).code == 200
    found = await api.get(f"{CONFIGMAPS}/a")
    assert found.body["data"] == {"k": "v", "j": "w"}
    assert managers(found) == {"m1": {"f:data": {"f:k": {}}}, "m2": {"f:data": {"f:j": {}}}}


async def test_appliers_at_once_all_succeed(api: Api) -> None:
    replies = await asyncio.gather(*(apply(api, configmap(data={f"k{i}": "v"}), f"m{i}") for i in range(8)))
    assert sorted(reply.code for reply in replies) == [200] * 7 + [201]
    assert len((await api.get(f"{CONFIGMAPS}/a")).body["data"]) == 8


async def test_applying_the_same_again_changes_nothing(memory_api: Api) -> None:
    first = await apply(memory_api, configmap(data={"k": "v"}), "m1")
    again = await apply(memory_api, configmap(data={"k": "v"}), "m1")
    assert again.body == first.body


async def test_applying_null_again_changes_nothing(memory_api: Api) -> None:
    config: Any = configmap(data={"k": None})  # type: ignore[dict-item]
    first = await apply(memory_api, config, "m1")
    assert first.body["data"] == {"k": ""}
    assert (await apply(memory_api, config, "m1")).version == first.version


async def test_dry_run_stores_nothing(memory_api: Api) -> None:
    reply = await apply(memory_api, configmap(data={"k": "v"}), "m1", query="&dryRun=All")
    assert (reply.code, "resourceVersion" in reply.body["metadata"]) == (201, False)
    assert (await memory_api.get(f"{CONFIGMAPS}/a")).code == 404


async def test_a_field_that_an_updater_holds_stays(memory_api: Api) -> None:
    await apply(memory_api, configmap(data={"k": "v", "j": "w"}), "m1")
    await update(memory_api, {"data": {"k": "u"}}, "upd")
    assert (await apply(memory_api, configmap(), "m1")).body["data"] == {"k": "u"}


async def test_a_forgotten_history_is_not_begun_by_plain_writes(memory_api: Api) -> None:
    await memory_api.post(CONFIGMAPS, configmap(data={"k": "v"}))
    await update(memory_api, {"metadata": {"managedFields": []}}, "upd")
    assert managers(await update(memory_api, {"data": {"k": "w"}}, "upd")) == {}
    owned = managers(await apply(memory_api, configmap(data={"j": "x"}), "m1"))
    assert owned["before-first-apply"] == {"f:data": {".": {}, "f:k": {}}}


async def test_the_oldest_of_too_many_updaters_become_one(memory_api: Api) -> None:
    await memory_api.post(f"{CONFIGMAPS}?fieldManager=u00", configmap(data={"k00": "v"}))
    for i in range(1, 12):
        reply = await update(memory_api, {"data": {f"k{i:02}": "v"}}, f"u{i:02}")
    owned = managers(reply)
    assert len(owned) == 10
    assert owned["ancient-changes"] == {"f:data": {".": {}, "f:k00": {}, "f:k01": {}, "f:k02": {}}}


async def test_managers_of_other_versions_see_changes_in_theirs(memory_api: Api) -> None:
    config: dict[str, Any] = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e", "labels": {"l": "x"}},
        "note": "x",
        "reason": "R",
        "action": "A",
        "type": "Normal",
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "c.d/e",
        "reportingInstance": "i",
        "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
    }
    target = f"{EVENTS}/e?fieldManager=m1"
    assert (await memory_api.patch(target, config, content_type=APPLY)).code == 201
    core = f"{CORE}/events/e"
    owned = managers(await update(memory_api, {"message": "y"}, "upd", target=core))
    assert "f:note" not in owned["m1"]
    assert owned["upd"] == {"f:message": {}}
    refused = await memory_api.patch(target, config, content_type=APPLY)
    assert refused.message == 'Apply failed with 1 conflict: conflict with "upd" using v1: .message'
    del config["note"], config["metadata"]["labels"]
    reply = await memory_api.patch(target, config, content_type=APPLY)
    assert (reply.code, reply.body["note"], "labels" in reply.body["metadata"]) == (200, "y", False)


@pytest.mark.parametrize(("manager", "code"), [("kubectl", 200), ("other", 409)])
async def test_kubectl_takes_over_what_its_client_applied(memory_api: Api, manager: str, code: int) -> None:
    last = orjson.dumps(configmap(data={"k": "v"})).decode()
    await memory_api.post(
        f"{CONFIGMAPS}?fieldManager=kubectl-client-side-apply",
        configmap(data={"k": "v"}, annotations={LAST_APPLIED: last}),
    )
    reply = await apply(memory_api, configmap(data={"k": "w"}), manager)
    assert reply.code == code
    if code == 200:
        kept = reply.body["metadata"]["annotations"][LAST_APPLIED]
        assert kept == orjson.dumps(configmap(data={"k": "w"}), option=orjson.OPT_SORT_KEYS).decode() + "\n"


async def test_kubectl_is_refused_what_somebody_else_changed(memory_api: Api) -> None:
    last = orjson.dumps(configmap(data={"k": "v", "j": "x"})).decode()
    await memory_api.post(CONFIGMAPS, configmap(data={"k": "v", "j": "x"}, annotations={LAST_APPLIED: last}))
    await update(memory_api, {"data": {"k": "u"}}, "upd")
    reply = await apply(memory_api, configmap(data={"k": "w", "j": "y"}), "kubectl")
    assert reply.message == 'Apply failed with 1 conflict: conflict with "upd" using v1: .data.k'


async def test_a_configuration_that_no_object_can_have_is_the_servers_fault(memory_api: Api) -> None:
    config = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": "no base64!"}}
    reply = await memory_api.patch(f"{CORE}/secrets/s?fieldManager=m", config, content_type=APPLY)
    assert reply.code == 500
    assert reply.message.startswith(
        "failed to convert new object (/s; /v1, Kind=Secret) to proper version (v1): "
    )


@pytest.mark.parametrize("body", [b"{", b"", b"null", b"a: &a [*a]", b"\xff\xfe", b"- x", b"{}", b"[" * 500])
async def test_bodies_that_are_no_configuration_are_refused(memory_api: Api, body: bytes) -> None:
    assert (await memory_api.patch(f"{CONFIGMAPS}/a?fieldManager=m", body, content_type=APPLY)).code == 400
