"""Expressions that take long: their write waits, others do not."""

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from tests.admission.hooks import allow, hook_server, patching
from tests.admission.objects import GROUP, Json, binding, policy, put_in_force, webhook, webhooks
from tests.custom.definitions import DEFINITIONS, WIDGETS, Crds, eventually, spec_schema, version, widget
from tests.http.writing import CONFIGMAPS, JSON_PATCH, Api, Reply, configmap

TURNS_MIN = 100
"""Far more often than a write that keeps the loop to itself ever waits, which is fewer than ten times."""
ITEMS = [f"i{index}" for index in range(200)]
PAIRS = "self.items.all(a, self.items.all(b, a != b || a == {text}))"
RULES = [{"rule": PAIRS.format(text=f"a + '{index}' || true"), "message": f"r{index}"} for index in range(6)]
LIST: Json = {"type": "array", "maxItems": 200, "items": {"type": "string", "maxLength": 8}}


async def define(api: Api, *rules: Json) -> None:
    """Widgets whose rules compare every item with every other, which costs more than can be spent at once."""
    schema = spec_schema(items=LIST, size={"type": "integer"})
    schema["properties"]["spec"]["x-kubernetes-validations"] = [*RULES, *rules]
    await Crds(api).define(version(schema=schema))


async def while_others_wait(write: Awaitable[Reply]) -> tuple[Reply, int]:
    """The reply, and how often anything else could run meanwhile."""
    turns = 0
    writing = asyncio.ensure_future(write)
    while not writing.done():
        await asyncio.sleep(0)
        turns += 1
    return await writing, turns


async def test_rules_of_custom_objects_keep_nobody_waiting(api: Api) -> None:
    await define(api)
    reply, turns = await while_others_wait(api.post(WIDGETS, widget(spec={"items": ITEMS})))
    assert reply.code == 201 and reply.body["spec"]["items"] == ITEMS
    assert turns > TURNS_MIN


async def test_policies_keep_nobody_waiting(api: Api) -> None:
    loop = "range.all(a, range.all(b, a != b || size(object.data) > 0))".replace("range", "lists.range(220)")
    validations = [{"expression": f"{loop} && {index} < 10"} for index in range(6)]
    await put_in_force(api, policy(validations=validations), binding())
    reply, turns = await while_others_wait(api.post(CONFIGMAPS, configmap(data={"a": "1"})))
    assert reply.code == 201, reply.content
    assert turns > TURNS_MIN


@pytest.mark.parametrize("content_type", ["application/json", "application/apply-patch+yaml"])
async def test_what_is_found_elsewhere_is_told_the_same(api: Api, content_type: str) -> None:
    await define(api, {"rule": "self.size < 3", "messageExpression": "'too large: ' + string(self.size)"})
    body: Any = widget(spec={"items": ITEMS, "size": 5})
    if content_type == "application/json":
        reply = await api.post(WIDGETS, body)
    else:
        reply = await api.patch(f"{WIDGETS}/w?fieldManager=m", body, content_type=content_type)
    assert reply.code == 422
    assert reply.message == 'Widget.example.com "w" is invalid: spec: Invalid value: too large: 5'
    body["spec"]["size"] = 2
    assert (await api.post(WIDGETS, body)).code == 201
    again = await api.patch(f"{WIDGETS}/w", {"spec": {"size": 4}})
    assert again.message == 'Widget.example.com "w" is invalid: spec: Invalid value: too large: 4'
    assert (await api.patch(f"{WIDGETS}/w", {"spec": {"size": 1}})).body["metadata"]["generation"] == 2


async def test_managers_are_noted_once(api: Api) -> None:
    await define(api)
    created = (await api.post(WIDGETS, widget(spec={"items": ITEMS, "size": 1}))).body["metadata"]
    (entry,) = created["managedFields"]
    assert (created["generation"], entry["manager"]) == (1, "tests")
    assert entry["fieldsV1"] == {"f:spec": {".": {}, "f:items": {}, "f:size": {}}}


async def test_no_webhook_is_asked_twice_because_of_it(api: Api) -> None:
    await define(api)
    rules = [
        {"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["widgets"]}
    ]
    size = {"op": "add", "path": "/spec/size", "value": 3}
    async with hook_server(patching(size)) as changing, hook_server(allow) as judging:
        await put_in_force(api, webhooks("Mutating", webhook(changing.url, rules=rules, timeoutSeconds=10)))
        await put_in_force(api, webhooks("Validating", webhook(judging.url, rules=rules, timeoutSeconds=10)))
        created = await api.post(WIDGETS, widget(spec={"items": ITEMS}))
        assert created.body["spec"]["size"] == 3
        patched = await api.patch(f"{WIDGETS}/w", {"spec": {"items": ITEMS[1:]}})
        assert patched.code == 200
    assert (len(changing.requests), len(judging.requests)) == (2, 2)


TEXTS = " && ".join(["object.kind == 'ConfigMap'"] * 700)
"""An expression that takes long to read."""


async def test_long_policies_keep_nobody_waiting(api: Api) -> None:
    validations = [{"expression": f"{TEXTS} && {index} < 10"} for index in range(4)]
    long = policy(validations=[*validations, {"expression": "object.data.a == '1'"}])
    writing = api.post(f"{GROUP}/validatingadmissionpolicies", long)
    reply, turns = await while_others_wait(writing)
    assert reply.code == 201, reply.content
    assert turns > TURNS_MIN
    await put_in_force(api, binding())
    assert (await api.post(CONFIGMAPS, configmap(data={"a": "2"}))).code == 422


async def test_what_is_wrong_with_long_policies_is_told(api: Api) -> None:
    reply = await api.post(
        f"{GROUP}/validatingadmissionpolicies", policy(validations=[{"expression": f"{TEXTS} && x"}])
    )
    (cause,) = reply.body["details"]["causes"]
    assert reply.code == 422 and "undeclared reference to 'x' (in container '')" in cause["message"]


async def test_long_rules_of_definitions_keep_nobody_waiting(api: Api) -> None:
    schema = spec_schema(size={"type": "integer"})
    rule = " && ".join(["self.size < 100"] * 1000)
    schema["properties"]["spec"]["x-kubernetes-validations"] = [{"rule": rule, "message": "small only"}] * 3
    await Crds(api).define(version(schema=spec_schema(size={"type": "integer"})))
    before = api.app.context.registry
    update = [{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": schema}]
    writing = api.patch(f"{DEFINITIONS}/widgets.example.com", update, content_type=JSON_PATCH)
    reply, turns = await while_others_wait(writing)
    assert reply.code == 200 and turns > TURNS_MIN
    await eventually(lambda: api.app.context.registry is not before)
    reply, turns = await while_others_wait(api.post(WIDGETS, widget(spec={"size": 100})))
    assert reply.code == 422 and len(reply.body["details"]["causes"]) == 3
    assert turns > TURNS_MIN
