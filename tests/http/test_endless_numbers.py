"""Numbers that no float is large enough for: refused in words where nothing else says what they are."""

import json
from typing import Any

import pytest

from tests.custom.definitions import WIDGETS, Crds, spec_schema, version, widget
from tests.http.writing import CONFIGMAPS, Api

ENDLESS = 10**400
WORDS = f"json: cannot unmarshal number {ENDLESS} into Go value of type float64"


def body_of(value: Any) -> bytes:
    return json.dumps(value).encode()


async def test_custom_objects_hold_none(api: Api) -> None:
    await Crds(api).define(version(schema=spec_schema(size={"x-kubernetes-preserve-unknown-fields": True})))
    reply = await api.post(WIDGETS, body_of(widget(spec={"size": ENDLESS})))
    assert reply.code == 400 and WORDS in reply.message


async def test_a_merge_patch_holds_none(api: Api) -> None:
    await api.post(CONFIGMAPS, {"metadata": {"name": "c"}})
    patch = body_of({"data": {"a": ENDLESS}})
    reply = await api.patch(f"{CONFIGMAPS}/c", patch, content_type="application/merge-patch+json")
    assert reply.code == 400 and WORDS in reply.message, reply.content


async def test_what_is_applied_is_yaml_where_such_a_number_is_a_text(api: Api) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": ENDLESS}}
    target = f"{CONFIGMAPS}/c?fieldManager=m"
    reply = await api.patch(target, body_of(body), content_type="application/apply-patch+yaml")
    assert reply.code == 201 and reply.body["data"] == {"a": str(ENDLESS)}


async def test_a_json_patch_holds_none(api: Api) -> None:
    await api.post(CONFIGMAPS, {"metadata": {"name": "c"}})
    patch = body_of([{"op": "add", "path": "/data", "value": {"a": ENDLESS}}])
    reply = await api.patch(f"{CONFIGMAPS}/c", patch, content_type="application/json-patch+json")
    assert reply.code == 400 and WORDS in reply.message, reply.content


@pytest.mark.parametrize("data", [ENDLESS, {"a": [ENDLESS]}])
async def test_what_may_hold_any_json_holds_none(api: Api, data: Any) -> None:
    body = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "r"}, "revision": 1}
    reply = await api.post(
        "/apis/apps/v1/namespaces/default/controllerrevisions", body_of({**body, "data": data})
    )
    assert (
        reply.code == 400 and "json: cannot unmarshal number into Go value of type float64" in reply.message
    )


async def test_a_large_number_beside_strange_text_is_a_float(api: Api) -> None:
    text = json.dumps({"a": 10**30, "b": "\ud800"})
    body = (
        '{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"r"},"revision":1,"data":%s}'
    )
    reply = await api.post("/apis/apps/v1/namespaces/default/controllerrevisions", (body % text).encode())
    assert reply.code == 201 and reply.body["data"] == {"a": 1e30, "b": "\ufffd"}
