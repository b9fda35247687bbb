"""Definitions and objects that are meant to hurt: they get their 4xx, and others are served."""

from typing import Any

import pytest

from tests.custom.definitions import (
    DEFINITIONS,
    ROOT,
    WIDGETS,
    Crds,
    definition,
    spec_schema,
    version,
    widget,
)
from tests.http.writing import CONFIGMAPS, JSON_PATCH, Api, configmap

TEXT = {"type": "string"}
FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
DEEP = 1000


def nested(depth: int, value: bytes = b"1", *, opening: bytes = b'{"a":', closing: bytes = b"}") -> bytes:
    """JSON of a depth."""
    return opening * depth + value + closing * depth


def with_spec(spec: bytes) -> bytes:
    """A widget whose spec is given as bytes."""
    return b'{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":%b}' % spec


async def others_are_served(api: Api) -> None:
    """Whether nobody else has come to harm."""
    assert (await api.post(CONFIGMAPS, configmap("other"))).code == 201


@pytest.mark.parametrize(("opening", "closing"), [(b'{"a":', b"}"), (b"[", b"]")])
async def test_an_object_that_is_too_deep_is_refused(opening: bytes, closing: bytes, memory_api: Api) -> None:
    await Crds(memory_api).define(version(schema={**FREE, "properties": {"spec": FREE}}))
    body = with_spec(nested(DEEP, opening=opening, closing=closing))
    for reply in (
        await memory_api.post(WIDGETS, body),
        await memory_api.post(WIDGETS, body, content_type="application/yaml"),
        await memory_api.patch(
            f"{WIDGETS}/w?fieldManager=m", body, content_type="application/apply-patch+yaml"
        ),
    ):
        assert reply.code == 400, reply.content[:300]
    await others_are_served(memory_api)


async def test_patches_cannot_make_an_object_too_deep(memory_api: Api) -> None:
    await Crds(memory_api).define(version(schema={**FREE, "properties": {"spec": FREE}}))
    made = await memory_api.post(WIDGETS, with_spec(nested(150)))
    assert made.code == 201
    below = "/spec" + "/a" * 149 + "/b"
    operation = {"op": "copy", "from": "/spec", "path": below.removesuffix("/b")}
    reply = await memory_api.patch(f"{WIDGETS}/w", [operation], content_type=JSON_PATCH)
    assert reply.code == 422, reply.content[:300]
    doubling = [
        {"op": "copy", "from": "/spec", "path": f"/spec{'/a' * depth}/b"} for depth in (149, 149, 149)
    ]
    reply = await memory_api.patch(f"{WIDGETS}/w", doubling * 9, content_type=JSON_PATCH)
    assert reply.code == 422, reply.content[:300]
    assert (await memory_api.get(f"{WIDGETS}/w")).version == made.version
    await others_are_served(memory_api)


async def test_an_object_as_deep_as_may_be_is_kept(api: Api, crds: Crds) -> None:
    await crds.define(version(schema={**FREE, "properties": {"spec": FREE}}))
    assert (await api.post(WIDGETS, with_spec(nested(190)))).code == 201
    assert (await api.patch(f"{WIDGETS}/w", {"metadata": {"labels": {"a": "b"}}})).code == 200
    assert (await api.get(WIDGETS)).code == 200


@pytest.mark.parametrize("content_type", ["application/json", "application/yaml"])
async def test_a_schema_as_deep_as_may_be_works(content_type: str, memory_api: Api) -> None:
    """Each level of a schema is two of JSON."""
    schema: dict[str, Any] = TEXT
    for _ in range(90):
        schema = {"type": "object", "properties": {"a": schema}}
    made = definition(version(schema=schema))
    reply = await memory_api.post(DEFINITIONS, made, content_type=content_type)
    assert reply.code == 201, reply.content[:300]
    await Crds(memory_api).wait_for("widgets.example.com", lambda got: b"InitialNames" in got.content)
    assert (await memory_api.post(WIDGETS, widget())).code == 201
    assert (await memory_api.get(f"/openapi/v3{ROOT}")).code == 200


async def test_a_wide_schema_works(api: Api, crds: Crds) -> None:
    fields = {f"field{index}": TEXT for index in range(5000)}
    await crds.define(version(schema=spec_schema(**fields)))
    spec = dict.fromkeys(fields, "x")
    assert (await api.post(WIDGETS, widget(spec=spec))).body["spec"] == spec
    refused = await api.post(WIDGETS, widget("other", spec=dict.fromkeys(fields, 1)))
    assert (refused.code, len(refused.body["details"]["causes"])) == (422, 1000)


async def test_a_schema_that_refers_to_itself_is_refused(memory_api: Api) -> None:
    path = "#/properties/spec"
    loop = {"type": "object", "properties": {"spec": {"type": "object", "$ref": path}}}
    refused = await memory_api.post(DEFINITIONS, definition(version(schema=loop)))
    [cause] = refused.body["details"]["causes"]
    place = "spec.validation.openAPIV3Schema.properties[spec].$ref"
    assert (refused.code, cause["field"], cause["message"]) == (
        422,
        place,
        "Forbidden: $ref is not supported",
    )
    hidden = {"type": "object", "properties": {"spec": {"type": "object", "definitions": {"a": loop}}}}
    assert (await memory_api.post(DEFINITIONS, definition(version(schema=hidden)))).code == 422


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|aa)+$", "(.*a){25}", "^(([a-z])+.)+[A-Z]([a-z])+$"])
async def test_patterns_that_explode_elsewhere_are_quick(pattern: str, memory_api: Api) -> None:
    await Crds(memory_api).define(version(schema=spec_schema(a={"type": "string", "pattern": pattern})))
    refused = await memory_api.post(WIDGETS, widget(spec={"a": "a" * 24 + "b" * 50_000 + "!"}))
    assert refused.code == 422, pattern
    assert refused.body["details"]["causes"][0]["message"].endswith(f"should match '{pattern}'")


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"(?=x)", "invalid or unsupported Perl syntax: `(?=`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("(a{1000}){1000}", "invalid repeat count: `{1000}`"),
        (".{1000}" * 150, "expression too large"),
        (r"\C", r"invalid escape sequence: `\C`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("(" * 2000 + ")" * 2000, "expression nests too deeply"),
    ],
)
async def test_a_pattern_that_is_none_is_refused(pattern: str, why: str, memory_api: Api) -> None:
    made = definition(version(schema=spec_schema(a={"type": "string", "pattern": pattern})))
    refused = await memory_api.post(DEFINITIONS, made)
    assert refused.code == 422
    message = refused.body["details"]["causes"][0]["message"]
    assert f"must be a valid regular expression, but isn't: error parsing regexp: {why}" in message


async def test_a_rule_that_would_run_for_ever_is_refused_with_its_definition(memory_api: Api) -> None:
    rule = {"rule": "self.l.all(x, self.l.all(y, self.l.all(z, x + y + z >= 0)))"}
    schema = spec_schema(l={"type": "array", "items": {"type": "integer"}})
    schema["properties"]["spec"]["x-kubernetes-validations"] = [rule]
    refused = await memory_api.post(DEFINITIONS, definition(version(schema=schema)))
    assert refused.code == 422
    assert "estimated rule cost exceeds budget by factor of more than 100x" in refused.message
