"""Every message: what is encoded and decoded again is the same object, byte for byte the same message."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kinepy_server.data import table
from kinepy_server.resources.builtins import builtin_registry
from kinepy_server.resources.resource import JsonObject
from kinepy_server.schema.decode import DecodeError, decode
from kinepy_server.schema.types import type_named
from kinepy_server.wire.protobuf import ProtobufError, decode_message, encode_message
from kinepy_server.wire.protobuf_special import READ, read_duration, write_duration
from kinepy_server.wire.protobuf_table import fields_of
from tests.http.protobuf_values import decoded, values_of
from tests.http.types import examples, made, resource_of, sent

SCHEMAS = sorted(
    name
    for name in table("protobuf")["messages"]
    if name in table("schemas")["definitions"] and name not in READ
)
LISTS = sorted(
    f"{resource.schema.rpartition('.')[0]}.{resource.list_kind}"
    for resource in builtin_registry().all()
    if resource.list_kind
)


@pytest.mark.parametrize("schema", SCHEMAS)
@given(data=st.data())
@settings(max_examples=5, suppress_health_check=list(HealthCheck), deadline=None)
def test_an_object_comes_back_from_its_message(schema: str, data: st.DataObject) -> None:
    of = type_named(schema)
    obj = decoded(of, data.draw(values_of(of)))
    message = encode_message(schema, obj)
    again = decode_message(schema, message)
    assert encode_message(schema, again) == message
    assert decode(schema, again)[0] == obj


@pytest.mark.parametrize(("key", "example"), examples("examples"))
def test_a_recorded_object_comes_back_from_its_message(key: str, example: list[JsonObject]) -> None:
    schema, obj = resource_of(key).schema, made(key, sent(key, example[0]))
    again = decode(schema, decode_message(schema, encode_message(schema, obj)))[0]
    assert again == _without_types(obj)


def _without_types(value: Any) -> Any:
    """A value without the types of whole objects in it, which messages do not tell."""
    if isinstance(value, list):
        return [_without_types(member) for member in value]
    if not isinstance(value, dict):
        return value
    left_out = ("apiVersion", "kind") if "metadata" in value else ()
    return {name: _without_types(member) for name, member in value.items() if name not in left_out}


def test_the_message_of_nothing_means_nothing() -> None:
    for schema in SCHEMAS:
        empty = decode(schema, {})[0]
        assert decode(schema, decode_message(schema, encode_message(schema, {})))[0] == empty
        assert decode(schema, decode_message(schema, b""))[0] == empty


@given(data=st.data())
@settings(max_examples=300, suppress_health_check=list(HealthCheck), deadline=None)
def test_a_message_that_is_cut_short_or_damaged_is_a_named_error_or_an_object(data: st.DataObject) -> None:
    schema = data.draw(st.sampled_from(SCHEMAS))
    of = type_named(schema)
    message = bytearray(encode_message(schema, decoded(of, data.draw(values_of(of)))))
    at = data.draw(st.integers(0, len(message)))
    damage = data.draw(st.binary(max_size=12))
    message[at : at + len(damage)] = damage
    try:
        obj = decode(
            schema, decode_message(schema, bytes(message[: data.draw(st.integers(0, len(message)))]))
        )[0]
    except (ProtobufError, DecodeError):
        return
    encode_message(schema, obj)


def test_a_message_that_occurs_twice_is_merged() -> None:
    first, second = {"metadata": {"name": "a"}}, {"metadata": {"labels": {"k": "v"}}}
    raw = encode_message("v1.ConfigMap", second) + b"\x0a\x03\x0a\x01a"
    assert decode_message("v1.ConfigMap", raw)["metadata"]["labels"] == {"k": "v"}
    assert decode_message("v1.ConfigMap", raw)["metadata"]["name"] == first["metadata"]["name"]


def test_fields_that_are_no_pointers_are_written_when_they_are_zero() -> None:
    assert encode_message("meta.v1.ListMeta", {}) == b"\x0a\x00\x12\x00\x1a\x00"
    assert encode_message("v1.LocalObjectReference", {}) == b"\x0a\x00"


def test_what_is_inlined_is_written_always() -> None:
    assert encode_message("v1.ConfigMapEnvSource", {}) == b"\x0a\x02\x0a\x00"


def test_negative_numbers_take_ten_bytes() -> None:
    assert (
        encode_message("coordination.v1.LeaseSpec", {"leaseDurationSeconds": -1})
        == b"\x10" + b"\xff" * 9 + b"\x01"
    )


def test_entries_are_sorted_by_key() -> None:
    one, two = ({"data": dict(pairs)} for pairs in ([("a", "1"), ("b", "2")], [("b", "2"), ("a", "1")]))
    assert encode_message("v1.ConfigMap", one) == encode_message("v1.ConfigMap", two)


def test_nesting_has_a_bound() -> None:
    raw = b""
    for _ in range(20_000):
        raw = b"\xca\x01" + _length(len(raw)) + raw
        if len(raw) > 400_000:
            break
    with pytest.raises(ProtobufError, match="too deeply"):
        decode_message("apiextensions.v1.JSONSchemaProps", raw)


def _length(size: int) -> bytes:
    parts = bytearray()
    while size > 0x7F:
        parts.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes((*parts, size))


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0s", 0), ("1h0m0s", 3600 * 10**9), ("1m30.5s", 90_500_000_000), ("-2ms", -2_000_000), ("1.5µs", 1500),
        ("7ns", 7),
    ],
)  # fmt: skip
def test_durations_are_nanoseconds(text: str, nanoseconds: int) -> None:
    assert read_duration({"duration": nanoseconds}) == text
    parts = decode_message("meta.v1.ListMeta", b"\x20" + write_duration(text)[1:])
    assert parts["remainingItemCount"] == nanoseconds


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "integer", "minimum": 0.5, "default": {"b": [1]}}}},
        {"items": {"type": "string"}, "additionalProperties": False, "enum": ["x", 1]},
        {"items": [{"type": "string"}, {}], "dependencies": {"a": ["b"], "c": {"items": {}}}},
        {"x-kubernetes-preserve-unknown-fields": False, "x-kubernetes-list-type": "map", "$ref": ""},
    ],
)
def test_json_schemas_come_back_from_their_messages(schema: JsonObject) -> None:
    name = "apiextensions.v1.JSONSchemaProps"
    assert decode(name, decode_message(name, encode_message(name, schema)))[0] == schema


def test_every_list_can_be_put_together() -> None:
    for message in LISTS:
        numbers = {field.name: number for number, field in fields_of(message).items()}
        assert sorted((numbers["metadata"], numbers["items"])) == [1, 2]
