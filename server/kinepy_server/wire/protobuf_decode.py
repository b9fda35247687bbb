"""Messages to objects. Every message is compiled once, from its table to closures.

A message becomes the JSON value that it stands for; the schema decoder then treats it like any other
body. Unknown fields are skipped, and a message that occurs twice is merged, as protobuf wants it.
"""

# ruff: noqa: PLR0917 -- these functions call each other for every field: naming arguments would cost a third

from base64 import b64encode
from collections.abc import Callable, Mapping
from functools import cache
from struct import unpack_from
from typing import Any, TypeAlias

from kinepy_server.wire.protobuf_special import READ
from kinepy_server.wire.protobuf_table import Field, fields_of
from kinepy_server.wire.protobuf_wire import (
    BYTES,
    EOF,
    ProtobufError,
    check_tag,
    read_chunk,
    read_varint,
    skip,
    wrong_wire_type,
)

DEPTH_MAX = 100

Json: TypeAlias = dict[str, Any]
Fill: TypeAlias = Callable[[bytes, int, int, Json, int], None]
"""Reads data from a start to an end into an object, at a depth."""
Take: TypeAlias = Callable[[bytes, int, int, Json, int], int]
"""Reads one value whose tag was read into an object; returns the place behind it."""
Value: TypeAlias = Callable[[bytes, int, int, int], tuple[Any, int]]
"""Reads one value from a start, at a depth; returns it and the place behind it."""


def decode_message(message: str, raw: bytes) -> Json:
    """The JSON value of a message, named as its schema is. Raises ProtobufError."""
    made: Json = {}
    fill_of(message)(raw, 0, len(raw), made, 0)
    return made


@cache
def fill_of(message: str, *, raw_bytes: bool = False) -> Fill:
    """The reader of a message's fields; bytes become base64 unless they are wanted raw."""
    fields = fields_of(message)
    named = {number: field.name for number, field in fields.items()}
    takes = {
        number << 3 | field.wire_type: _take(field, raw_bytes=raw_bytes) for number, field in fields.items()
    }
    return _reader(message.rpartition(".")[2], takes, named)


def _reader(message: str, takes: Mapping[int, Take], named: Mapping[int, str]) -> Fill:
    find = takes.get

    def fill(data: bytes, at: int, end: int, made: Json, depth: int) -> None:
        if depth > DEPTH_MAX:
            raise ProtobufError("proto: message nested too deeply")
        while at < end:
            tag = data[at]
            at += 1
            if tag >= 0x80:
                tag, at = read_varint(data, at - 1, end)
            take = find(tag)
            if take is not None:
                at = take(data, at, end, made, depth)
                continue
            number, wire_type = check_tag(tag, message)
            if number in named:
                wrong_wire_type(wire_type, named[number])
            at = skip(data, at, end, wire_type=wire_type)

    return fill


def _take(field: Field, *, raw_bytes: bool) -> Take:
    if field.map_key:
        return _entry(field)
    if not field.repeated and field.type not in READ and field.type not in _VALUES:
        return _message(field)
    value, name = _value(field.type, raw_bytes=raw_bytes), field.name
    if field.repeated:

        def add(data: bytes, at: int, end: int, made: Json, depth: int) -> int:
            found, at = value(data, at, end, depth)
            made.setdefault(name, []).append(found)
            return at

        return add
    if value is _text:
        return _text_take(name)

    def take(data: bytes, at: int, end: int, made: Json, depth: int) -> int:
        made[name], at = value(data, at, end, depth)
        return at

    return take


def _text_take(name: str) -> Take:
    def take(data: bytes, at: int, end: int, made: Json, depth: int) -> int:
        if at < end and (size := data[at]) < 0x80 and at + size < end:
            start = at + 1
            stop = start + size
        else:
            start, stop = read_chunk(data, at, end)
        made[name] = data[start:stop].decode("utf-8", "replace")
        return stop

    return take


def _message(field: Field) -> Take:
    """A message in a field of its own, or inlined."""
    name, kind, inlined = field.name, field.type, field.inlined
    found: list[Fill] = []

    def take(data: bytes, at: int, end: int, made: Json, depth: int) -> int:
        # Found on first use: messages may contain themselves.
        if not found:
            found.append(fill_of(kind))
        start, stop = read_chunk(data, at, end)
        inner = made if inlined else made.setdefault(name, {})
        found[0](data, start, stop, inner, depth + 1)
        return stop

    return take


def _entry(field: Field) -> Take:
    name, of_texts = field.name, field.type == "string"
    zero = "" if field.type in ("string", "bytes") else None
    takes = {
        tag: _take(part, raw_bytes=False)
        for tag, part in (
            (1 << 3 | BYTES, Field("key", field.map_key)),
            (2 << 3 | Field("", field.type).wire_type, Field("value", field.type)),
        )
    }
    fill = _reader(name, takes, {1: "key", 2: "value"})

    def take(data: bytes, at: int, end: int, made: Json, depth: int) -> int:
        start, stop = read_chunk(data, at, end)
        entries = made.get(name)
        if entries is None:
            entries = made[name] = {}
        if of_texts and (pair := _short_pair(data, start, stop)) is not None:
            entries[pair[0]] = pair[1]
            return stop
        entry: Json = {}
        fill(data, start, stop, entry, depth + 1)
        entries[entry.get("key", "")] = entry.get("value", zero)
        return stop

    return take


def _short_pair(data: bytes, start: int, stop: int) -> tuple[str, str] | None:
    """The key and the value of an entry of texts as every encoder writes it, with both shorter than 128 bytes."""
    if stop - start < 4 or data[start] != 10:
        return None
    middle = start + 2 + data[start + 1]
    if data[start + 1] >= 0x80 or middle + 2 > stop or data[middle] != 18:
        return None
    if data[middle + 1] >= 0x80 or middle + 2 + data[middle + 1] != stop:
        return None
    key = data[start + 2 : middle].decode("utf-8", "replace")
    return key, data[middle + 2 : stop].decode("utf-8", "replace")


def _value(kind: str, *, raw_bytes: bool) -> Value:
    if kind == "bytes":
        return _raw if raw_bytes else _base64
    return _VALUES.get(kind) or _object(kind)


def _object(kind: str) -> Value:
    read = READ.get(kind)
    found: list[Fill] = []

    def value(data: bytes, at: int, end: int, depth: int) -> tuple[Any, int]:
        if not found:
            found.append(fill_of(kind, raw_bytes=read is not None))
        start, stop = read_chunk(data, at, end)
        made: Json = {}
        found[0](data, start, stop, made, depth + 1)
        return (made if read is None else read(made)), stop

    return value


def _text(data: bytes, at: int, end: int, depth: int) -> tuple[str, int]:
    start, stop = read_chunk(data, at, end)
    return data[start:stop].decode("utf-8", "replace"), stop


def _raw(data: bytes, at: int, end: int, depth: int) -> tuple[bytes, int]:
    start, stop = read_chunk(data, at, end)
    return data[start:stop], stop


def _base64(data: bytes, at: int, end: int, depth: int) -> tuple[str, int]:
    start, stop = read_chunk(data, at, end)
    return b64encode(data[start:stop]).decode(), stop


def _bool(data: bytes, at: int, end: int, depth: int) -> tuple[bool, int]:
    number, at = read_varint(data, at, end)
    return bool(number), at


def _double(data: bytes, at: int, end: int, depth: int) -> tuple[float, int]:
    if at + 8 > end:
        raise ProtobufError(EOF)
    return unpack_from("<d", data, at)[0], at + 8


def _signed(bits: int) -> Value:
    half, whole = 1 << (bits - 1), 1 << bits

    def value(data: bytes, at: int, end: int, depth: int) -> tuple[int, int]:
        number, at = read_varint(data, at, end)
        number &= whole - 1
        return (number - whole if number >= half else number), at

    return value


_VALUES: Mapping[str, Value] = {
    "string": _text,
    "bytes": _base64,
    "bool": _bool,
    "double": _double,
    "int32": _signed(32),
    "int64": _signed(64),
}
