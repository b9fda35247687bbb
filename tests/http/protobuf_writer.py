"""Writes the protobuf of an object by the product's own tables, as the original's encoder does."""

from base64 import b64decode
from datetime import datetime
from typing import Any

import orjson

from kinepy_server.wire.protobuf_table import Field, fields_of
from kinepy_server.wire.protobuf_wire import BYTES, MAGIC, VARINT

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def chunk(number: int, content: bytes) -> bytes:
    return varint(number << 3 | BYTES) + varint(len(content)) + content


def message(name: str, value: Any) -> bytes:
    if name in ("meta.v1.Time", "meta.v1.MicroTime"):
        moment = datetime.fromisoformat(value)
        return (
            varint(1 << 3)
            + varint(int(moment.timestamp()))
            + varint(2 << 3)
            + varint(moment.microsecond * 1000)
        )
    if name == "meta.v1.FieldsV1":
        return chunk(1, orjson.dumps(value))
    parts = b""
    for number, field in sorted(fields_of(name).items()):
        if field.name in value:
            parts += member(number, field, value[field.name])
    return parts


def member(number: int, field: Field, value: Any) -> bytes:
    if field.map_key:
        of = Field("", field.type, repeated=False, map_key="", inlined=False)
        entries = ((chunk(1, key.encode()), member(2, of, inner)) for key, inner in sorted(value.items()))
        return b"".join(chunk(number, key + inner) for key, inner in entries)
    if field.repeated:
        return b"".join(single(number, field, inner) for inner in value)
    return single(number, field, value)


def single(number: int, field: Field, value: Any) -> bytes:
    match field.type:
        case "string":
            return chunk(number, value.encode())
        case "bytes":
            return chunk(number, b64decode(value))
        case "int32" | "int64" | "bool":
            return varint(number << 3 | VARINT) + varint(int(value))
        case name:
            return chunk(number, message(name, value))


def envelope(api_version: str, kind: str, raw: bytes) -> bytes:
    """A body: magic, type, message, and the two empty texts that the original writes."""
    type_meta = chunk(1, api_version.encode()) + chunk(2, kind.encode())
    return MAGIC + chunk(1, type_meta) + chunk(2, raw) + chunk(3, b"") + chunk(4, b"")
