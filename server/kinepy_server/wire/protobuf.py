"""Whole objects in protobuf: the envelope, which names the type, around a message.

The messages themselves are compiled from a table: `protobuf_encode` and `protobuf_decode`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from kinepy_server.errors import StatusError, status_object
from kinepy_server.wire.protobuf_decode import decode_message
from kinepy_server.wire.protobuf_encode import encode_message
from kinepy_server.wire.protobuf_table import message_of
from kinepy_server.wire.protobuf_wire import (
    BYTES,
    MAGIC,
    ProtobufError,
    check_tag,
    chunk,
    read_chunk,
    read_varint,
    skip,
    tag_of,
    varint,
    wrong_wire_type,
)

__all__ = [
    "Envelope", "ProtobufError", "decode_message", "encode_message", "open_envelope", "seal", "seal_json",
    "seal_object", "seal_parts", "seal_status",
]  # fmt: skip

_FIRST, _SECOND = tag_of(1, BYTES), tag_of(2, BYTES)
_REST = tag_of(3, BYTES) + b"\x00" + tag_of(4, BYTES) + b"\x00"
"""Content encoding and content type, which are never set but always written."""
_KEPT_BYTES_MAX = 128
_NAMES = {1: "TypeMeta", 2: "Raw"}


@dataclass(frozen=True, slots=True)
class Envelope:
    """What is around every object: its type, and its message."""

    api_version: str
    kind: str
    raw: bytes


def open_envelope(body: bytes) -> Envelope:
    """The type and the message of a body. Raises ProtobufError."""
    if not body:
        raise ProtobufError("empty data")
    if not body.startswith(MAGIC):
        expected = " ".join(str(byte) for byte in MAGIC)
        raise ProtobufError(
            f"provided data does not appear to be a protobuf message, expected prefix [{expected}]"
        )
    named: Mapping[str, str] = {}
    raw = b""
    at, end = len(MAGIC), len(body)
    while at < end:
        tag, at = read_varint(body, at, end)
        number, wire_type = check_tag(tag, "Unknown")
        if number not in _NAMES:
            at = skip(body, at, end, wire_type=wire_type)
            continue
        if wire_type != BYTES:
            wrong_wire_type(wire_type, _NAMES[number])
        start, at = read_chunk(body, at, end)
        if number == 1:
            content = body[start:at]
            read = _type_meta_kept if len(content) <= _KEPT_BYTES_MAX else _type_meta
            named = read(content)
        else:
            raw = body[start:at]
    return Envelope(named.get("apiVersion", ""), named.get("kind", ""), raw)


def _type_meta(content: bytes) -> Mapping[str, str]:
    return decode_message("runtime.TypeMeta", content)


_type_meta_kept = lru_cache(maxsize=1024)(_type_meta)


@lru_cache(maxsize=4096)
def _front(api_version: str, kind: str) -> bytes:
    type_meta = chunk(_FIRST, api_version.encode()) + chunk(_SECOND, kind.encode())
    return MAGIC + chunk(_FIRST, type_meta) + _SECOND


def seal(api_version: str, kind: str, raw: bytes) -> bytes:
    """A message in its envelope."""
    return b"".join((_front(api_version, kind), varint(len(raw)), raw, _REST))


def seal_parts(api_version: str, kind: str, parts: Sequence[bytes]) -> Sequence[bytes]:
    """A message that is in parts, in its envelope."""
    size = sum(map(len, parts))
    return [_front(api_version, kind) + varint(size), *parts, _REST]


def seal_status(error: StatusError) -> bytes:
    """The Status of an error."""
    return seal("v1", "Status", encode_message("meta.v1.Status", status_object(error)))


def seal_object(obj: Mapping[str, Any]) -> bytes | None:
    """A JSON object in its envelope; None when its kind has no message."""
    kind = obj.get("kind", "")
    message = message_of(obj.get("apiVersion", ""), kind)
    return seal(obj.get("apiVersion", ""), kind, encode_message(message, obj)) if message else None


def seal_json(body: bytes) -> bytes | None:
    """As `seal_object`, of a JSON text."""
    return seal_object(orjson.loads(body))
