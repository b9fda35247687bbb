"""The elements of protobuf's wire format: tags, varints and lengths, read and written.

Errors are worded as the original's generated code words them.
"""

from typing import NoReturn

MAGIC = b"k8s\x00"
"""In front of every whole object."""
VARINT, FIXED64, BYTES, START_GROUP, END_GROUP, FIXED32 = range(6)
NUMBER_MAX = 1 << 29
UINT64_MAX = (1 << 64) - 1
EOF = "unexpected EOF"

WIRE_TYPES = {"int32": VARINT, "int64": VARINT, "bool": VARINT, "double": FIXED64}
"""Of the scalars; everything else is a length and as many bytes."""


class ProtobufError(ValueError):
    """The bytes are no such message."""


def read_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """A varint and the place behind it."""
    value = shift = 0
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift >= 64:
            raise ProtobufError("proto: integer overflow")
    raise ProtobufError(EOF)


def read_chunk(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Start and end of a length-delimited element."""
    length, start = read_varint(data, at, end)
    if length > UINT64_MAX >> 1:
        raise ProtobufError("proto: negative length found during unmarshaling")
    if start + length > end:
        raise ProtobufError(EOF)
    return start, start + length


def check_tag(tag: int, message: str) -> tuple[int, int]:
    """Field number and wire type of a tag that no field of the message has."""
    number, wire_type = tag >> 3, tag & 7
    if wire_type == END_GROUP:
        raise ProtobufError(f"proto: {message}: wiretype end group for non-group")
    if number <= 0 or number >= NUMBER_MAX:
        raise ProtobufError(f"proto: {message}: illegal tag {number} (wire type {tag})")
    return number, wire_type


def wrong_wire_type(wire_type: int, field: str) -> NoReturn:
    """Refuse a value of a known field in another wire type."""
    raise ProtobufError(f"proto: wrong wireType = {wire_type} for field {field[:1].upper()}{field[1:]}")


def skip(data: bytes, at: int, end: int, *, wire_type: int) -> int:
    """The place behind an element that is not wanted."""
    depth = 0
    while True:
        match wire_type:
            case 0:
                at = read_varint(data, at, end)[1]
            case 1:
                at += 8
            case 2:
                at = read_chunk(data, at, end)[1]
            case 3:
                depth += 1
            case 4:
                depth -= 1
            case 5:
                at += 4
            case _:
                raise ProtobufError(f"proto: illegal wireType {wire_type}")
        if at > end:
            raise ProtobufError(EOF)
        if not depth:
            return at
        tag, at = read_varint(data, at, end)
        wire_type = tag & 7


def varint(number: int) -> bytes:
    """A number as a varint; negative ones take ten bytes."""
    if 0 <= number < 0x80:
        return SMALL[number]
    number &= UINT64_MAX
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


SMALL = tuple(bytes((number,)) for number in range(0x80))
"""Varints of one byte."""


def tag_of(number: int, wire_type: int) -> bytes:
    """The tag in front of a field's value."""
    return varint(number << 3 | wire_type)


def chunk(tag: bytes, content: bytes) -> bytes:
    """A length-delimited field."""
    return tag + varint(len(content)) + content
