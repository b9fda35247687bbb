"""JSON and YAML bodies are read as the original reads them, and refused in its words."""

# ruff: noqa: E501 -- recorded texts stand on one line

import contextlib
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinepy_server.errors import StatusError
from kinepy_server.resources.builtins import builtin_registry
from kinepy_server.schema.decode import Validation
from kinepy_server.wire.body import Decoded, decode_body, decode_options
from kinepy_server.wire.json_text import parse_json
from kinepy_server.wire.yaml_text import YamlError, parse_yaml, yaml_of_json

REGISTRY = builtin_registry()
HEAD = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)
UNREADABLE = "the object provided is unrecognized (must be of type ConfigMap): "
NO_KIND = UNREADABLE + "couldn't get version/kind; json parse error: "
REFUSED = 'ConfigMap in version "v1" cannot be handled as a ConfigMap: '
TWICE = (
    b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","name2":"x"},'
    b'"data":{"a":"1","a":"2"},"data2":{"x":"y"}}'
)
TOLD = ['unknown field "metadata.name2"', 'duplicate field "data.a"', 'unknown field "data2"']


def read(body: bytes, content_type: str = "", validation: Validation = Validation.WARN) -> Decoded:
    resource = REGISTRY.by_kind("v1", "ConfigMap")
    assert resource is not None
    return decode_body(resource, REGISTRY, body, content_type=content_type, validation=validation)


def refusal(body: bytes, content_type: str = "", validation: Validation = Validation.WARN) -> str:
    with pytest.raises(StatusError) as caught:
        read(body, content_type, validation)
    assert caught.value.code == 400
    return caught.value.message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", NO_KIND + "unexpected end of JSON input (<empty>)"),
        (b'{"kind": ', NO_KIND + 'unexpected end of JSON input ({"kind": )'),
        (b"[]", NO_KIND + f"json: cannot unmarshal array into Go value of type {HEAD} (5b5d)"),
        (b'"x"', NO_KIND + f"json: cannot unmarshal string into Go value of type {HEAD} (227822)"),
        (b"metadata:\n  name: z\n", NO_KIND + "invalid character 'm' looking for beginning of value (6d657461646174613a0a20206e616d653a207a0a)"),
        (b'{"kind":1}', NO_KIND + 'json: cannot unmarshal number into Go struct field .kind of type string ({"kind":1})'),
        (b"{}x", NO_KIND + "invalid character 'x' after top-level value ({}x)"),
        (b'{"a":NaN}', NO_KIND + "invalid character 'N' looking for beginning of value ({\"a\":NaN})"),
        (b'{"a":tru}', NO_KIND + "invalid character '}' in literal true (expecting 'e') ({\"a\":tru})"),
        (b'{"a" 1}', NO_KIND + "invalid character '1' after object key ({\"a\" 1})"),
        (b'{"apiVersion":"a/b/c"}', UNREADABLE + 'unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c"})'),
        (b'{"apiVersion":"v2","kind":"ConfigMap"}', 'ConfigMap in version "v2" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "v2" in scheme "pkg/runtime/scheme.go:110"'),
        (b'{"apiVersion":"v1","kind":"Secret"}', 'Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion'),
        (b'{"metadata":"x"}', REFUSED + "json: cannot unmarshal string into Go struct field ConfigMap.metadata of type v1.ObjectMeta"),
    ],
)  # fmt: skip
def test_a_body_that_is_no_such_object_is_told_why(body: bytes, message: str) -> None:
    assert refusal(body) == message


@pytest.mark.parametrize(
    "body", [b"null", b"{}", b'{"kind":"ConfigMap"}', b'{"apiVersion":"v1"}', b'{"kind":null}']
)
def test_a_body_without_a_type_is_of_the_endpoint_s(body: bytes) -> None:
    assert read(body).object == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}


def test_unknown_and_repeated_fields_are_told_as_the_client_asks() -> None:
    assert read(TWICE).warnings == TOLD
    assert read(TWICE, validation=Validation.IGNORE).warnings == ()
    assert (
        refusal(TWICE, validation=Validation.STRICT) == f"{REFUSED}strict decoding error: {', '.join(TOLD)}"
    )
    assert read(TWICE, validation=Validation.IGNORE).object["data"] == {"a": "2"}


@pytest.mark.parametrize("body", [b'{"data":{"k":"a\xff"}}', b'{"data":{"k":"a\\ud800"}}'])
def test_what_is_no_character_becomes_the_replacement_character(body: bytes) -> None:
    assert read(body).object["data"] == {"k": "a\ufffd"}


@pytest.mark.parametrize("depth", [300, 1000, 100_000])
def test_a_deep_body_is_refused(depth: int) -> None:
    for body in (b"[" * depth, b'{"x":' + b"[" * depth + b"]" * depth + b"}"):
        assert "exceeded max depth" in refusal(body)


def test_a_wide_body_is_not_deep() -> None:
    assert parse_json(b'{"x":[' + b",".join([b"{}"] * 1000) + b"]}")


@given(st.binary(max_size=40))
def test_any_bytes_are_a_value_or_a_named_error(body: bytes) -> None:
    with contextlib.suppress(ValueError):
        parse_json(body)


def test_no_body_is_no_options_and_unknown_ones_are_ignored() -> None:
    assert decode_options(b"", content_type="") == {}
    assert decode_options(b'{"kind":"DeleteOptions","frob":1,"orphanDependents":true}', content_type="") == {
        "kind": "DeleteOptions",
        "orphanDependents": True,
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("y", True), ("No", False), ("on", True), ("~", None), ("", None), ("1", 1), ("010", 8), ("0x1F", 31), ("1_000", 1000),
        ("1.5", 1.5), ("1e3", 1000.0), ("'y'", "y"), ("2001-01-01", "2001-01-01"), ("1:30", "1:30"), ("1.2.3", "1.2.3"), ("0o7", 7),
    ],
)  # fmt: skip
def test_plain_yaml_is_version_1_1_and_times_stay_texts(text: str, value: Any) -> None:
    assert parse_yaml(f"k: {text}".encode())[0] == {"k": value}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (str(2**64 - 1), 2**64 - 1),
        (str(2**64), 2.0**64),
        (str(-(2**63)), -(2**63)),
        (str(-(2**63) - 1), -(2.0**63)),
        ("1" + "0" * 300, 1e300),
        ("1" + "0" * 400, "1" + "0" * 400),
        ("9" * 5000, "9" * 5000),
        ("0x" + "f" * 20, "0x" + "f" * 20),
        ("1e999", "1e999"),
    ],
)
def test_a_yaml_number_that_does_not_fit_is_a_float_or_stays_text(text: str, value: Any) -> None:
    assert parse_yaml(f"k: {text}".encode())[0] == {"k": value}


def test_yaml_keys_become_texts() -> None:
    assert parse_yaml(b"1: a\ntrue: b\n1.5: c")[0] == {"1": "a", "true": "b", "1.5": "c"}


def test_yaml_aliases_are_copies_and_merges_fill_in() -> None:
    value = parse_yaml(b"a: &a {x: [1], z: 2}\nb: *a\nc: {<<: *a, z: 3}")[0]
    assert value == {"a": {"x": [1], "z": 2}, "b": {"x": [1], "z": 2}, "c": {"x": [1], "z": 3}}
    assert value["a"]["x"] is not value["b"]["x"]


def test_a_yaml_bomb_is_refused() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    with pytest.raises(YamlError, match="excessive aliasing"):
        parse_yaml("\n".join(lines).encode())
    with pytest.raises(YamlError, match="contains itself"):
        parse_yaml(b"a: &a [*a]")


def test_repeated_yaml_keys_are_told_with_their_line() -> None:
    body = b"data:\n  k: '1'\n  k: '2'\n"
    assert read(body, "application/yaml").warnings == ['line 3: key "k" already set in map']
    assert refusal(body, "application/yaml", Validation.STRICT) == (
        f"{REFUSED}strict decoding error: error converting YAML to JSON: yaml: unmarshal errors:\n"
        '  line 3: key "k" already set in map'
    )


def test_bad_yaml_is_told_where() -> None:
    assert "error converting YAML to JSON: yaml: line " in refusal(b"a: [b", "application/yaml")


YAML_TEXT = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), max_size=8) | st.sampled_from(
    ["y", "1", "~", "<<"]
)


INT64 = st.integers(-(2**63), 2**63 - 1)


@given(st.dictionaries(YAML_TEXT, YAML_TEXT | INT64 | st.booleans() | st.none(), max_size=4))
def test_an_answer_in_yaml_reads_back(value: dict[str, Any]) -> None:
    assert parse_yaml(yaml_of_json(orjson.dumps(value)))[0] == value
