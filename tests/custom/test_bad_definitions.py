"""Definitions that are refused: what is said of single words of a schema, and what could hurt the server."""

from typing import Any

import orjson
import pytest

from kinepy_server.custom.definition_checks import definition_errors
from tests.custom.definitions import DEFINITIONS, definition, spec_schema, version
from tests.http.writing import Api

SCHEMA = "spec.validation.openAPIV3Schema.properties[spec]"


def _errors(schema: dict[str, Any]) -> list[tuple[str, str]]:
    made = definition(version(schema={"type": "object", "properties": {"spec": schema}}))
    made["spec"]["names"] |= {"singular": "widget", "listKind": "WidgetList"}
    made["spec"]["conversion"] = {"strategy": "None"}
    made["status"] = {"storedVersions": ["v1"]}
    return [(error.field.removeprefix(SCHEMA), error.text) for error in definition_errors(made)]


@pytest.mark.parametrize(
    ("schema", "field", "text"),
    [
        ({"type": "object", "x-kubernetes-int-or-string": True}, ".type", "Forbidden: must be empty if"),
        (
            {"type": "string", "anyOf": [{"default": "x"}]},
            ".anyOf[0].default",
            "Forbidden: must be empty to be",
        ),
        ({"type": "string", "not": {"nullable": True}}, ".not.nullable", "Forbidden: must be false to be"),
        (
            {"type": "object", "oneOf": [{"properties": {"a": {"minimum": 1}}}]},
            ".properties[a]",
            "Required value: because it is defined in",
        ),
        (
            {"type": "array", "items": [{"type": "string"}]},
            ".items",
            "Forbidden: items must be a schema object",
        ),
        (
            {"type": "object", "x-kubernetes-embedded-resource": True},
            ".properties",
            "Required value: must not be empty if",
        ),
        (
            {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "set"},
            ".items.x-kubernetes-map-type",
            "Invalid value: null: must be atomic",
        ),
        (
            {"type": "string", "x-kubernetes-list-type": "set"},
            ".type",
            'Invalid value: "string": must be array',
        ),
        ({"type": "object", "additionalProperties": False}, ".additionalProperties", "Forbidden: additional"),
    ],
)
def test_a_word_where_it_may_not_be(schema: dict[str, Any], field: str, text: str) -> None:
    found = [told for where, told in _errors(schema) if where == field]
    assert found and found[0].startswith(text), _errors(schema)


def test_int_or_string_may_be_spelled_out() -> None:
    both = [{"type": "integer"}, {"type": "string"}]
    assert _errors({"x-kubernetes-int-or-string": True, "anyOf": both}) == []
    assert _errors({"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": both}, {"pattern": "^x"}]}) == []


def test_what_all_versions_do_not_share_is_named_in_its_version() -> None:
    broken = version("v2", spec_schema(a={"type": "strung"}))
    made = definition(version(), broken)
    made["status"] = {"storedVersions": ["v1"]}
    fields = [error.field for error in definition_errors(made)]
    assert any(
        field.startswith("spec.versions[1].schema.openAPIV3Schema.properties[spec]") for field in fields
    )


async def test_a_schema_that_is_too_deep_is_refused(memory_api: Api) -> None:
    depth = 1000
    deep = b'{"type":"object","properties":{"a":' * depth + b'{"type":"string"}' + b"}}" * depth
    made = definition()
    body = with_schema(made, deep)
    assert (await memory_api.post(DEFINITIONS, body)).code == 400


def with_schema(made: dict[str, Any], schema: bytes) -> bytes:
    """A definition with a schema that is given as bytes."""
    made["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = "SCHEMA"
    return orjson.dumps(made).replace(b'"SCHEMA"', schema)


@pytest.mark.parametrize(
    "spec", [None, {}, {"versions": []}, {"versions": [{}]}, {"conversion": {"strategy": "Frob"}}]
)
async def test_a_definition_without_its_parts_is_refused(spec: Any, memory_api: Api) -> None:
    made = {**definition(), "spec": spec}
    assert (await memory_api.post(DEFINITIONS, made)).code == 422


async def test_objects_of_a_version_that_only_a_webhook_converts_are_not_shown_as_another(
    memory_api: Api,
) -> None:
    made = definition(version(), version("v2"))
    client = {"service": {"name": "a", "namespace": "b"}}
    made["spec"]["conversion"] = {
        "strategy": "Webhook",
        "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]},
    }
    assert (await memory_api.post(DEFINITIONS, made)).code == 201
    stored, other = (f"/apis/example.com/{name}/namespaces/default/widgets" for name in ("v1", "v2"))
    obj = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    assert (await memory_api.post(stored, obj)).code == 201
    assert (await memory_api.get(f"{other}/w")).code == 500
