"""Decoding does what the original's decoder and encoder do together, in its words."""

# ruff: noqa: E501 -- recorded texts stand on one line

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinepy_server.schema.decode import DecodeError, decode, empty_object
from kinepy_server.schema.duplicates import may_repeat, strict_problems
from kinepy_server.schema.types import Kind, type_named

EMPTY_CORE_EVENT: Any = {
    "metadata": {},
    "involvedObject": {},
    "eventTime": None,
    "firstTimestamp": None,
    "lastTimestamp": None,
    "reportingComponent": "",
    "reportingInstance": "",
    "source": {},
}


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ("v1.ConfigMap", {"data": {"k": 1}}, "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"),
        ("v1.ConfigMap", {"data": ["x"]}, "json: cannot unmarshal array into Go struct field ConfigMap.data of type map[string]string"),
        ("v1.ConfigMap", {"metadata": "x"}, "json: cannot unmarshal string into Go struct field ConfigMap.metadata of type v1.ObjectMeta"),
        ("v1.ConfigMap", {"metadata": {"name": True}}, "json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.name of type string"),
        ("v1.ConfigMap", {"metadata": {"labels": {"k": 1}}}, "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string"),
        ("v1.Secret", {"type": 1}, "json: cannot unmarshal number into Go struct field Secret.type of type v1.SecretType"),
        ("v1.Secret", {"data": {"k": 1}}, "json: cannot unmarshal number into Go struct field Secret.data of type []uint8"),
        ("v1.Secret", {"data": {"k": "***"}}, "illegal base64 data at input byte 0"),
        ("v1.Secret", {"data": {"k": "eA"}}, "illegal base64 data at input byte 0"),
        ("v1.Secret", {"data": {"k": "eHg\u00e9"}}, "illegal base64 data at input byte 3"),
        ("coordination.v1.Lease", {"spec": {"leaseDurationSeconds": 1.5}}, "json: cannot unmarshal number 1.5 into Go struct field LeaseSpec.spec.leaseDurationSeconds of type int32"),
        ("coordination.v1.Lease", {"spec": {"leaseDurationSeconds": 2**31}}, "json: cannot unmarshal number 2147483648 into Go struct field LeaseSpec.spec.leaseDurationSeconds of type int32"),
        ("v1.Event", {"firstTimestamp": 1}, "json: cannot unmarshal number into Go value of type string"),
    ],
)  # fmt: skip
def test_a_wrong_type_is_told_as_the_original_tells_it(schema: str, value: Any, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(schema, value)
    assert str(caught.value) == message


def test_unknown_fields_are_dropped_and_told_in_order() -> None:
    value = {"metadata": {"name2": "x", "ownerReferences": [{"foo": 1}]}, "data2": 1}
    decoded, problems = decode("v1.ConfigMap", value)
    assert decoded == {
        "metadata": {"ownerReferences": [{"apiVersion": "", "kind": "", "name": "", "uid": ""}]}
    }
    assert problems == [
        'unknown field "metadata.name2"',
        'unknown field "metadata.ownerReferences[0].foo"',
        'unknown field "data2"',
    ]


def test_unknown_fields_are_told_once_and_bounded() -> None:
    assert len(decode("v1.ConfigMap", {f"x{i}": 1 for i in range(500)})[1]) == 100


@pytest.mark.parametrize("empty", [None, {}, ""])
def test_what_is_empty_is_left_out(empty: Any) -> None:
    value = {
        "data": empty or None,
        "immutable": None,
        "metadata": {"labels": empty or {}, "name": empty or ""},
    }
    assert decode("v1.ConfigMap", value)[0] == {"metadata": {}}


def test_a_pointer_is_shown_whatever_its_value() -> None:
    assert decode("v1.ConfigMap", {"immutable": False})[0]["immutable"] is False
    lease = decode("coordination.v1.Lease", {"spec": {"leaseTransitions": 0, "holderIdentity": ""}})[0]
    assert lease["spec"] == {"leaseTransitions": 0, "holderIdentity": ""}


def test_null_in_a_map_of_texts_is_an_empty_text() -> None:
    assert decode("v1.ConfigMap", {"data": {"k": None}})[0]["data"] == {"k": ""}


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ("v1.ConfigMap", {"metadata": {}}),
        ("v1.Namespace", {"metadata": {}, "spec": {}, "status": {}}),
        ("coordination.v1.Lease", {"metadata": {}, "spec": {}}),
        ("v1.Event", EMPTY_CORE_EVENT),
    ],
)
def test_fields_that_the_encoder_always_shows_come_by_themselves(schema: str, shown: Any) -> None:
    assert empty_object(schema) == shown


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("2026-01-01T00:00:00.9Z", "2026-01-01T00:00:00Z"),
        ("2026-01-01T00:00:00+02:00", "2025-12-31T22:00:00Z"),
        ("2026-01-01T1:00:00Z", "2026-01-01T01:00:00Z"),
        ("0001-01-01T00:00:00Z", None),
    ],
)
def test_a_time_becomes_whole_seconds_in_utc(text: str, canonical: str | None) -> None:
    assert decode("v1.Event", {"firstTimestamp": text})[0]["firstTimestamp"] == canonical


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("2026-01-01T00:00:00.123456Z", "2026-01-01T00:00:00.123456Z"),
        ("2026-01-01T00:00:00.123456+02:00", "2025-12-31T22:00:00.123456Z"),
    ],
)
def test_a_micro_time_keeps_six_digits_in_utc(text: str, canonical: str) -> None:
    assert decode("v1.Event", {"eventTime": text})[0]["eventTime"] == canonical


@pytest.mark.parametrize(
    ("field", "text", "message"),
    [
        ("firstTimestamp", "", 'as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"'),
        ("firstTimestamp", "yesterday", 'as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"'),
        ("firstTimestamp", "2026-01-01", 'as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"'),
        ("firstTimestamp", "2026-01-01t00:00:00z", 'as "2006-01-02T15:04:05Z07:00": cannot parse "t00:00:00z" as "T"'),
        ("firstTimestamp", "2026-02-30T00:00:00Z", ": day out of range"),
        ("firstTimestamp", "2026-13-01T00:00:00Z", ": month out of range"),
        ("eventTime", "2026-01-01T00:00:00Z", 'as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"'),
        ("eventTime", "2026-01-01T00:00:00.1Z", 'as "2006-01-02T15:04:05.000000Z07:00": cannot parse ".1Z" as ".000000"'),
        ("eventTime", "2026-01-01T00:00:00.123456789Z", 'as "2006-01-02T15:04:05.000000Z07:00": cannot parse "789Z" as "Z07:00"'),
    ],
)  # fmt: skip
def test_a_bad_time_is_told_where_it_goes_wrong(field: str, text: str, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode("v1.Event", {field: text})
    separator = "" if message.startswith(":") else " "
    assert str(caught.value) == f'parsing time "{text}"{separator}{message}'


def test_line_ends_in_base64_are_dropped() -> None:
    assert decode("v1.Secret", {"data": {"k": "eHl6\neHl6"}})[0]["data"] == {"k": "eHl6eHl6"}


def test_repeated_keys_are_told_in_the_order_of_the_body() -> None:
    body = b'{"metadata":{"name2":"x"},"data":{"a":"1","a":"2"},"data2":{"x":"y"}}'
    assert may_repeat(body, orjson.loads(body))
    assert strict_problems("v1.ConfigMap", body) == [
        'unknown field "metadata.name2"',
        'duplicate field "data.a"',
        'unknown field "data2"',
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text('a:\\"{}é', max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab:", max_size=2), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(JSON)
def test_a_body_without_repeated_keys_raises_no_suspicion(value: Any) -> None:
    assert not may_repeat(orjson.dumps(value), value)


@given(st.dictionaries(st.text("ab:", min_size=1, max_size=2), JSON, min_size=1, max_size=3), JSON)
def test_a_repeated_key_always_raises_suspicion(value: dict[str, Any], again: Any) -> None:
    key = next(iter(value))
    body = orjson.dumps(value)[:-1] + b"," + orjson.dumps({key: again})[1:]
    assert may_repeat(body, orjson.loads(body))


def test_the_shape_of_types_is_reachable() -> None:
    conditions = type_named("v1.NamespaceStatus").properties["conditions"]
    assert conditions.type.kind is Kind.LIST
    assert (conditions.type.list_type, conditions.type.list_map_keys) == ("map", ("type",))
    assert (conditions.patch_merge_key, conditions.patch_strategy) == ("type", "merge")
    assert type_named("meta.v1.OwnerReference").map_type == "atomic"
    assert type_named("meta.v1.ObjectMeta").properties["finalizers"].type.list_type == "set"
