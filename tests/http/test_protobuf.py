"""Protobuf bodies mean the same as JSON ones, and garbage is a 400 that says what is wrong."""

# ruff: noqa: E501 -- recorded texts stand on one line

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinepy_server.errors import StatusError
from kinepy_server.resources.builtins import builtin_registry
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.schema.decode import Validation
from kinepy_server.wire.body import decode_body, decode_options
from kinepy_server.wire.protobuf import ProtobufError, decode_message, open_envelope
from tests.http.protobuf_writer import MEDIA_TYPE, chunk, envelope, message, varint

REGISTRY = builtin_registry()
UNREADABLE = "the object provided is unrecognized (must be of type ConfigMap): "


def resource(api_version: str, kind: str) -> Resource:
    found = REGISTRY.by_kind(api_version, kind)
    assert found is not None
    return found


CONFIGMAPS = resource("v1", "ConfigMap")


def read(of: Resource, body: bytes) -> JsonObject:
    decoded = decode_body(of, REGISTRY, body, content_type=MEDIA_TYPE, validation=Validation.STRICT)
    assert not decoded.warnings
    return decoded.object


METADATA = {
    "name": "a",
    "namespace": "ns",
    "labels": {"l": "m", "n": "é"},
    "generation": 7,
    "creationTimestamp": "2026-01-01T00:00:00Z",
    "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": False}],
    "finalizers": ["x.io/f"],
    "managedFields": [{"manager": "m", "operation": "Update", "fieldsV1": {"f:data": {".": {}}}}],
}


@pytest.mark.parametrize(
    "obj",
    [
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v", "e": ""}, "binaryData": {"b": "eA=="}, "immutable": False},
        {"apiVersion": "v1", "kind": "Secret", "data": {"k": "dg=="}, "stringData": {"s": "t"}, "type": "Opaque"},
        {"apiVersion": "v1", "kind": "Namespace", "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "secrets": [{"name": "s"}], "imagePullSecrets": [{"name": "i"}]},
        {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {"leaseDurationSeconds": -1, "renewTime": "2026-01-01T00:00:00.123456Z"}},
        {"apiVersion": "v1", "kind": "Event", "count": 3, "eventTime": None, "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": None,
         "involvedObject": {"kind": "Pod"}, "source": {}, "reportingComponent": "", "reportingInstance": ""},
        {"apiVersion": "events.k8s.io/v1", "kind": "Event", "note": "n", "eventTime": "2026-01-01T00:00:00.000001Z", "regarding": {"name": "p"},
         "deprecatedSource": {}, "deprecatedFirstTimestamp": None, "deprecatedLastTimestamp": None},
    ],
    ids=lambda obj: f"{obj['apiVersion']}-{obj['kind']}",
)  # fmt: skip
def test_an_object_in_protobuf_is_the_object_in_json(obj: JsonObject) -> None:
    obj = {**obj, "metadata": METADATA}
    of = resource(obj["apiVersion"], obj["kind"])
    present = {name: value for name, value in obj.items() if value is not None}
    assert read(of, envelope(of.api_version, of.kind, message(of.schema, present))) == obj


@given(st.dictionaries(st.text(), st.text()), st.dictionaries(st.text(), st.text()))
def test_any_texts_come_through(data: dict[str, str], labels: dict[str, str]) -> None:
    raw = message("v1.ConfigMap", {"data": data, "metadata": {"labels": labels}})
    obj = decode_message("v1.ConfigMap", raw)
    assert obj.get("data", {}) == data
    assert obj["metadata"].get("labels", {}) == labels


def test_a_zero_time_is_no_time() -> None:
    raw = chunk(1, chunk(1, b"a") + chunk(8, b""))
    assert read(CONFIGMAPS, envelope("v1", "ConfigMap", raw))["metadata"] == {"name": "a"}


def test_unknown_fields_of_every_wire_type_are_skipped() -> None:
    strange = [
        varint(99 << 3) + b"\x01",
        varint(99 << 3 | 1) + b"8 octets",
        chunk(99, b"x"),
        varint(99 << 3 | 5) + b"four",
    ]
    group = varint(99 << 3 | 3) + varint(1 << 3) + b"\x01" + varint(99 << 3 | 4)
    raw = b"".join(strange) + group + chunk(1, chunk(1, b"a"))
    assert read(CONFIGMAPS, envelope("v1", "ConfigMap", raw))["metadata"] == {"name": "a"}


def test_delete_options_are_read() -> None:
    options: dict[str, Any] = {
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "propagationPolicy": "Orphan",
        "dryRun": ["All"],
    }
    body = envelope("v1", "DeleteOptions", message("meta.v1.DeleteOptions", options))
    assert decode_options(body, content_type=MEDIA_TYPE) == options


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "empty data (<empty>)"),
        (
            b"{}",
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] ({})",
        ),
        (b"k8s\x00\x0a", "unexpected EOF (6b3873000a)"),
        (b"k8s\x00\x08\x01", "proto: wrong wireType = 0 for field TypeMeta (6b3873000801)"),
    ],
)
def test_an_envelope_that_cannot_be_read_is_400(body: bytes, text: str) -> None:
    with pytest.raises(StatusError) as caught:
        read(CONFIGMAPS, body)
    assert (caught.value.code, caught.value.message) == (400, UNREADABLE + text)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"\x0a\x05a", "unexpected EOF"),
        (b"\x08\x01", "proto: wrong wireType = 0 for field Metadata"),
        (b"\x00\x01", "proto: ConfigMap: illegal tag 0 (wire type 0)"),
        (b"\x0c", "proto: ConfigMap: wiretype end group for non-group"),
        (b"\xff" * 11, "proto: integer overflow"),
    ],
)
def test_a_message_that_cannot_be_read_is_400_and_names_its_kind(raw: bytes, text: str) -> None:
    with pytest.raises(StatusError) as caught:
        read(CONFIGMAPS, envelope("v1", "ConfigMap", raw))
    assert caught.value.message == f'ConfigMap in version "v1" cannot be handled as a ConfigMap: {text}'


def test_an_object_of_another_kind_is_400() -> None:
    with pytest.raises(StatusError) as caught:
        read(CONFIGMAPS, envelope("v1", "Secret", b""))
    assert caught.value.message == (
        'Secret in version "v1" cannot be handled as a ConfigMap: '
        "converting (v1.Secret) to (core.ConfigMap): unknown conversion"
    )


@given(st.binary(max_size=200))
def test_garbage_is_never_more_than_a_named_error(raw: bytes) -> None:
    for attempt in (lambda: decode_message("v1.Event", raw), lambda: open_envelope(b"k8s\x00" + raw)):
        try:
            attempt()
        except ProtobufError:
            continue
