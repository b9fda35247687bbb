"""Definitions that are refused: what is said of single words of a schema, and what could hurt the server."""

from typing import Any

import orjson
import pytest

from kinepy_server.custom.definition_checks import definition_errors
from tests.custom.definitions import DEFINITIONS, definition, spec_schema, version
from tests.http.writing import Api

KEYED = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
ELEMENT = {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}}
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
        (
            {"x-kubernetes-int-or-string": True, "x-kubernetes-preserve-unknown-fields": True},
            ".x-kubernetes-preserve-unknown-fields",
            "Invalid value: true: must be false if x-kubernetes-int-or-string is true",
        ),
        (
            {"type": "string", "anyOf": [{"default": "x"}]},
            ".anyOf[0].default",
            "Forbidden: must be undefined to be structural",
        ),
        (
            {"type": "string", "anyOf": [{"x-kubernetes-validations": [{"rule": "true"}]}]},
            ".anyOf[0].x-kubernetes-validations",
            "Forbidden: must be empty to be structural",
        ),
        (
            {"type": "object", "not": {"properties": {"metadata": {"minProperties": 1}}}},
            ".not.properties[metadata]",
            "Forbidden: must not be specified in a nested context",
        ),
        (
            {"type": "array", "items": {"type": "object"}, **KEYED},
            ".x-kubernetes-list-map-keys",
            'Invalid value: ["k"]: entries must all be names of item properties',
        ),
        (
            {"type": "array", "items": {**ELEMENT, "nullable": True}, **KEYED},
            ".items.nullable",
            "Forbidden: cannot be nullable when x-kubernetes-list-type is map",
        ),
        (
            {"type": "array", "items": ELEMENT, **KEYED, "x-kubernetes-list-map-keys": ["k", "k"]},
            ".x-kubernetes-list-map-keys",
            'Invalid value: ["k","k"]: must not contain duplicate entries',
        ),
        (
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "bag"},
            ".x-kubernetes-list-type",
            'Unsupported value: "bag": supported values: "atomic", "set", "map"',
        ),
        ({"type": "string", "not": {"nullable": True}}, ".not.nullable", "Forbidden: must be false to be"),
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
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False},
            ".additionalProperties",
            "Forbidden: additionalProperties and properties are mutual exclusive",
        ),
    ],
)
def test_a_word_where_it_may_not_be(schema: dict[str, Any], field: str, text: str) -> None:
    found = [told for where, told in _errors(schema) if where == field]
    assert found and found[0].startswith(text), _errors(schema)


def test_int_or_string_may_be_spelled_out() -> None:
    both = [{"type": "integer"}, {"type": "string"}]
    assert _errors({"x-kubernetes-int-or-string": True, "anyOf": both}) == []
    assert _errors({"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": both}, {"pattern": "^x"}]}) == []
    turned = _errors({"x-kubernetes-int-or-string": True, "anyOf": both[::-1]})
    assert {text for _, text in turned} == {"Forbidden: must be empty to be structural"}


def test_a_default_obeys_the_rules_that_are_about_it() -> None:
    rules = [{"rule": "self.a != 'bad'", "message": "not this one"}]
    part = {
        "type": "object",
        "properties": {"a": {"type": "string", "maxLength": 9}},
        "x-kubernetes-validations": rules,
    }
    told = [(".properties[p].default", "Invalid value: not this one")]
    assert _errors({"type": "object", "properties": {"p": {**part, "default": {"a": "bad"}}}}) == told
    assert _errors({"type": "object", "properties": {"p": {**part, "default": {"a": "good"}}}}) == []
    inner = {"type": "object", "properties": {"p": part}, "default": {"p": {"a": "bad"}}}
    assert _errors(inner) == [(".default.p", "Invalid value: not this one")]


def test_what_validations_of_the_whole_object_speak_of_must_be_there() -> None:
    made = definition(version(schema={"type": "object", "oneOf": [{"properties": {"a": {"minLength": 1}}}]}))
    place = "spec.validation.openAPIV3Schema"
    told = f"Required value: because it is defined in {place}.oneOf[0].properties[a]"
    assert (f"{place}.properties[a]", told) in [(e.field, e.text) for e in definition_errors(made)]
    # As in the original: not those of a part of it.
    assert _errors({"type": "object", "oneOf": [{"properties": {"a": {"minLength": 1}}}]}) == []


@pytest.mark.parametrize(
    ("member", "value", "field", "text"),
    [
        ("deprecationWarning", "x", "spec.versions[0].deprecationWarning", "can only be set for deprecated versions"),
        (
            "additionalPrinterColumns",
            [{"name": "A", "type": "string", "jsonPath": "spec.a"}],
            "spec.additionalPrinterColumns[0].JSONPath",
            "must be a simple json path starting with .",
        ),
        (
            "selectableFields",
            [{"jsonPath": ".spec.zz"}],
            "spec.selectableFields[0].jsonPath",
            "is an invalid path: does not refer to a valid field",
        ),
        (
            "selectableFields",
            [{"jsonPath": ".spec['a']"}],
            "spec.selectableFields[0].jsonPath",
            "is an invalid path: array notation is not allowed",
        ),
        (
            "selectableFields",
            [{"jsonPath": "spec.a"}],
            "spec.selectableFields[0].jsonPath",
            "is an invalid path: expected [ or . but got: spec",
        ),
        (
            "subresources",
            {"scale": {"specReplicasPath": ".status.n", "statusReplicasPath": ".status.n"}},
            "spec.subresources.scale.specReplicasPath",
            "should be a json path under .spec",
        ),
        (
            "subresources",
            {"scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n", "labelSelectorPath": ".a.b"}},
            "spec.subresources.scale.labelSelectorPath",
            "should be a json path under either .spec or .status",
        ),
    ],
)  # fmt: skip
def test_what_a_version_says_is_checked(member: str, value: Any, field: str, text: str) -> None:
    made = definition(version(**{member: value}))
    found = [error.text for error in definition_errors(made) if error.field == field]
    assert found and found[0].endswith(text), definition_errors(made)


@pytest.mark.parametrize(
    ("webhook", "field", "text"),
    [
        (None, "webhookClientConfig", "Required value: required when strategy is set to Webhook"),
        ({"clientConfig": {}}, "webhookClientConfig", "Required value: exactly one of url or service is required"),
        (
            {"clientConfig": {"url": "http://x?a#b"}},
            "webhookClientConfig.url",
            'Invalid value: "http": \'https\' is the only allowed URL scheme; desired format: https://host[/path]',
        ),
        (
            {"clientConfig": {"service": {"namespace": "a"}}},
            "webhookClientConfig.service.namespace",
            "Required value: service namespace is required",
        ),
        (
            {"clientConfig": {"service": {"name": "a", "namespace": "b", "path": "/x//y"}}},
            "webhookClientConfig.service.path",
            'Invalid value: "/x//y": segment[1] may not be empty',
        ),
        ({"conversionReviewVersions": []}, "conversionReviewVersions", "Required value"),
        (
            {"conversionReviewVersions": ["v2", "v2"]},
            "conversionReviewVersions[1]",
            'Invalid value: "v2": duplicate version',
        ),
        (
            {"conversionReviewVersions": ["v2"]},
            "conversionReviewVersions",
            'Invalid value: ["v2"]: must include at least one of v1, v1beta1',
        ),
    ],
)  # fmt: skip
def test_how_a_definition_converts_is_checked(webhook: Any, field: str, text: str) -> None:
    made = definition(conversion={"strategy": "Webhook", "webhook": webhook})
    errors = [(error.field, error.text) for error in definition_errors(made)]
    assert (f"spec.conversion.{field}", text) in errors, errors


def test_names_are_labels_of_whatever_case() -> None:
    made = definition(kind="No_Kind")
    made["spec"]["names"]["categories"] = ["All"]
    told = {error.field: error.text for error in definition_errors(made)}
    assert "may have mixed case, but should otherwise match: a DNS-1035 label must" in told["spec.names.kind"]
    assert told["spec.names.categories[0]"].startswith('Invalid value: "All": a DNS-1035 label must')


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
