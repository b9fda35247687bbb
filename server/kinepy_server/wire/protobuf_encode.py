"""Objects to messages. Every message is compiled once, from its table to closures.

As the original does, fields are written in the order of their numbers, and one that is no pointer is
written even when it is zero.
"""

from binascii import a2b_base64
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from struct import pack
from typing import Any, TypeAlias

from kinepy_server.wire.protobuf_special import PARTS, WRITE
from kinepy_server.wire.protobuf_table import Field, fields_of
from kinepy_server.wire.protobuf_wire import BYTES, SMALL, chunk, tag_of, varint

Encode: TypeAlias = Callable[[Any], bytes]
"""From a JSON value to bytes: the content of a message, or a field with its tag."""


def encode_message(message: str, obj: Mapping[str, Any]) -> bytes:
    """The content of a message. Members that it has no field for are left out, such as apiVersion and kind."""
    return content_of(message)(obj)


@cache
def content_of(message: str) -> Encode:
    """The encoder of a message's content. Raises KeyError for an unknown message."""
    written = WRITE.get(message)
    if written is not None:
        return written
    encode = _by_table(message)
    parts = PARTS.get(message)
    return encode if parts is None else lambda value: encode(parts(value))


def _by_table(message: str) -> Encode:
    fields = fields_of(message).items()
    plain: list[tuple[str, Encode, bytes]] = []
    inlined: list[tuple[int, Encode]] = []
    for number, field in fields:
        if field.inlined:
            inlined.append((len(plain), _member(number, field)))
        else:
            plain.append((field.name, _member(number, field), _absent(number, field)))
    if inlined:
        return _with_inlined(plain, inlined)

    def encode(obj: Mapping[str, Any]) -> bytes:
        get = obj.get
        parts = []
        for name, member, absent in plain:
            value = get(name)
            if value is not None:
                parts.append(member(value))
            elif absent:
                parts.append(absent)
        return b"".join(parts)

    return encode


def _with_inlined(
    plain: Sequence[tuple[str, Encode, bytes]], inlined: Sequence[tuple[int, Encode]]
) -> Encode:
    """The encoder of a message that has messages inlined: these are always written, from the whole object."""

    def encode(obj: Mapping[str, Any]) -> bytes:
        parts = []
        start = 0
        for stop, whole in inlined:
            parts += _some(obj, plain[start:stop])
            parts.append(whole(obj))
            start = stop
        return b"".join(parts + _some(obj, plain[start:]))

    return encode


def _some(obj: Mapping[str, Any], fields: Sequence[tuple[str, Encode, bytes]]) -> list[bytes]:
    return [absent if (value := obj.get(name)) is None else member(value) for name, member, absent in fields]


def _absent(number: int, field: Field) -> bytes:
    """What stands for a field that is not set."""
    if field.pointer or field.repeated or field.map_key or field.type == "bytes":
        return b""
    if field.type in _ZERO:
        return _single(number, field.type)(_ZERO[field.type])
    if field.type in WRITE:
        return chunk(tag_of(number, BYTES), WRITE[field.type](None))
    return chunk(tag_of(number, BYTES), content_of(field.type)({}))


_ZERO: Mapping[str, Any] = {"string": "", "int32": 0, "int64": 0, "bool": False, "double": 0}


def _member(number: int, field: Field) -> Encode:
    """The encoder of a field's value, or of the whole object when the field is inlined."""
    if field.map_key:
        return _map_of_texts(number) if field.type == "string" else _map(number, field)
    single = _single(number, field.type)
    return (lambda values: b"".join(map(single, values))) if field.repeated else single


def _single(number: int, kind: str) -> Encode:
    tag = tag_of(number, Field("", kind).wire_type)
    match kind:
        case "string":
            return _text(tag)
        case "bool":
            true, false = tag + SMALL[1], tag + SMALL[0]
            return lambda value: true if value else false
        case "int32" | "int64":
            return lambda value: tag + varint(value)
        case "double":
            return lambda value: tag + pack("<d", value)
        case "bytes":
            return lambda value: chunk(tag, a2b_base64(value))
        case _:
            return _message(tag, kind)


def _text(tag: bytes) -> Encode:
    def encode(value: str) -> bytes:
        content = value.encode()
        size = len(content)
        return tag + (SMALL[size] if size < 0x80 else varint(size)) + content

    return encode


def _message(tag: bytes, message: str) -> Encode:
    found: list[Encode] = []

    def encode(value: Any) -> bytes:
        # Found on first use: messages may contain themselves.
        if not found:
            found.append(content_of(message))
        content = found[0](value)
        size = len(content)
        return tag + (SMALL[size] if size < 0x80 else varint(size)) + content

    return encode


def _map(number: int, field: Field) -> Encode:
    tag, key, value = tag_of(number, BYTES), _single(1, field.map_key), _single(2, field.type)
    return lambda entries: b"".join(
        [chunk(tag, key(name) + value(entry)) for name, entry in sorted(entries.items())]
    )


def _map_of_texts(number: int) -> Encode:
    tag, key, value = tag_of(number, BYTES), _text(tag_of(1, BYTES)), _text(tag_of(2, BYTES))

    def encode(entries: Mapping[str, str]) -> bytes:
        parts: list[bytes] = []
        for name in sorted(entries):
            entry = key(name) + value(entries[name])
            parts += (tag, varint(len(entry)), entry)
        return b"".join(parts)

    return encode
