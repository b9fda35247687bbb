"""Protobuf bodies: the envelope, and messages by table.

A message becomes the JSON value that it stands for; the schema decoder then treats it like any other
body. Unknown fields are skipped. Errors are worded as the original's generated code words them.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from struct import unpack_from
from typing import Any, NoReturn

from kinepy_server.data import table
from kinepy_server.wire.json_text import parse_json

MAGIC = b"k8s\x00"
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
DEPTH_MAX = 100
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EOF = "unexpected EOF"


class ProtobufError(ValueError):
    """The bytes are no such message."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """What is around every object: its type, and its message."""

    api_version: str
    kind: str
    raw: bytes


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message: its JSON name, its type (a scalar or a message name), and how often it occurs."""

    name: str
    type: str
    repeated: bool
    map_key: str
    inlined: bool

    @property
    def wire_type(self) -> int:
        """The wire type of its values; entries of a map are messages."""
        if self.map_key:
            return BYTES
        return {"int32": VARINT, "int64": VARINT, "bool": VARINT, "double": FIXED64}.get(self.type, BYTES)


@cache
def fields_of(message: str) -> Mapping[int, Field]:
    """The fields of a message by number. Raises KeyError for an unknown message."""
    fields = {}
    for number, entry in table("protobuf")["messages"][message].items():
        name, kind, label, flags = [*entry, "", "", ""][:4]
        fields[int(number)] = Field(name, kind, label == "[]", label.strip("[]{}"), "i" in flags)
    return fields


def open_envelope(body: bytes) -> Envelope:
    """The type and the message of a body. Raises ProtobufError."""
    if not body:
        raise ProtobufError("empty data")
    if not body.startswith(MAGIC):
        expected = " ".join(str(byte) for byte in MAGIC)
        raise ProtobufError(
            f"provided data does not appear to be a protobuf message, expected prefix [{expected}]"
        )
    reader = _Reader(body, "Unknown")
    named = {"apiVersion": "", "kind": ""}
    raw = b""
    at = len(MAGIC)
    while at < len(body):
        number, wire_type, at = reader.tag(at)
        if number not in (1, 2):
            at = reader.skip(wire_type, at)
            continue
        if wire_type != BYTES:
            reader.wrong_wire_type(wire_type, "TypeMeta" if number == 1 else "Raw")
        start, at = reader.chunk(at)
        if number == 1:
            named |= _message("runtime.TypeMeta", body, start=start, end=at, depth=0)
        else:
            raw = body[start:at]
    return Envelope(named["apiVersion"], named["kind"], raw)


def decode_message(message: str, raw: bytes) -> dict[str, Any]:
    """The JSON value of a message, named as its schema is. Raises ProtobufError."""
    return _plain(message, raw, start=0, end=len(raw), depth=0)


class _Reader:
    """Reads the elements of the wire format, and says in which message it was when it cannot."""

    __slots__ = ("data", "end", "message")

    def __init__(self, data: bytes, message: str, end: int | None = None) -> None:
        self.data, self.message = data, message
        self.end = len(data) if end is None else end

    def varint(self, at: int) -> tuple[int, int]:
        """A varint and the place behind it."""
        value = shift = 0
        data, end = self.data, self.end
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

    def tag(self, at: int) -> tuple[int, int, int]:
        """Field number, wire type and the place behind the tag."""
        value, at = self.varint(at)
        number, wire_type = value >> 3, value & 7
        if wire_type == 4:
            raise ProtobufError(f"proto: {self.message}: wiretype end group for non-group")
        if number <= 0 or number >= 1 << 29:
            raise ProtobufError(f"proto: {self.message}: illegal tag {number} (wire type {value})")
        return number, wire_type, at

    def chunk(self, at: int) -> tuple[int, int]:
        """Start and end of a length-delimited element."""
        length, start = self.varint(at)
        if length > 2**63 - 1:
            raise ProtobufError("proto: negative length found during unmarshaling")
        if start + length > self.end:
            raise ProtobufError(EOF)
        return start, start + length

    def skip(self, wire_type: int, at: int) -> int:
        """The place behind an element that is not wanted."""
        match wire_type:
            case 0:
                return self.varint(at)[1]
            case 1:
                at += 8
            case 2:
                return self.chunk(at)[1]
            case 5:
                at += 4
            case 3:
                return self.skip_group(at)
            case _:
                raise ProtobufError(f"proto: illegal wireType {wire_type}")
        if at > self.end:
            raise ProtobufError(EOF)
        return at

    def skip_group(self, at: int) -> int:
        """The place behind a group, with the groups inside it."""
        depth = 1
        while depth:
            value, at = self.varint(at)
            match value & 7:
                case 3:
                    depth += 1
                case 4:
                    depth -= 1
                case wire_type:
                    at = self.skip(wire_type, at)
        return at

    def wrong_wire_type(self, wire_type: int, field: str) -> NoReturn:
        """Refuse a value of a known field in another wire type."""
        raise ProtobufError(f"proto: wrong wireType = {wire_type} for field {field[:1].upper()}{field[1:]}")


def _message(message: str, data: bytes, *, start: int, end: int, depth: int) -> Any:
    special = _SPECIAL.get(message)
    if special is not None:
        return special(_plain(message, data, start=start, end=end, depth=depth))
    return _plain(message, data, start=start, end=end, depth=depth)


def _plain(message: str, data: bytes, *, start: int, end: int, depth: int) -> dict[str, Any]:
    if depth > DEPTH_MAX:
        raise ProtobufError("proto: message nested too deeply")
    reader = _Reader(data, message.rpartition(".")[2], end)
    fields = fields_of(message)
    made: dict[str, Any] = {}
    at = start
    while at < end:
        number, wire_type, at = reader.tag(at)
        field = fields.get(number)
        if field is None:
            at = reader.skip(wire_type, at)
            continue
        if wire_type != field.wire_type:
            reader.wrong_wire_type(wire_type, field.name)
        if field.map_key:
            first, at = reader.chunk(at)
            key, value = _entry(field, data, start=first, end=at, depth=depth)
            made.setdefault(field.name, {})[key] = value
            continue
        value, at = _element(field, reader, at=at, depth=depth)
        if field.repeated:
            made.setdefault(field.name, []).append(value)
        elif field.inlined:
            made |= value
        else:
            made[field.name] = value
    return made


def _element(field: Field, reader: _Reader, *, at: int, depth: int) -> tuple[Any, int]:
    """One value and the place behind it."""
    kind = field.type
    if kind in ("int32", "int64", "bool"):
        number, at = reader.varint(at)
        return _VARINTS[kind](number), at
    if kind == "double":
        if at + 8 > reader.end:
            raise ProtobufError(EOF)
        return unpack_from("<d", reader.data, at)[0], at + 8
    start, end = reader.chunk(at)
    if kind == "string":
        return reader.data[start:end].decode("utf-8", "replace"), end
    if kind == "bytes":
        return b64encode(reader.data[start:end]).decode(), end
    return _message(kind, reader.data, start=start, end=end, depth=depth + 1), end


def _entry(field: Field, data: bytes, *, start: int, end: int, depth: int) -> tuple[Any, Any]:
    reader = _Reader(data, field.name, end)
    key_field = Field("key", field.map_key, repeated=False, map_key="", inlined=False)
    value_field = Field("value", field.type, repeated=False, map_key="", inlined=False)
    key: Any = ""
    value: Any = None
    at = start
    while at < end:
        number, wire_type, at = reader.tag(at)
        part = key_field if number == 1 else value_field
        if number > 2:
            at = reader.skip(wire_type, at)
        elif wire_type != part.wire_type:
            reader.wrong_wire_type(wire_type, part.name)
        elif number == 1:
            key, at = _element(part, reader, at=at, depth=depth)
        else:
            value, at = _element(part, reader, at=at, depth=depth)
    return key, value


def _signed(bits: int) -> Callable[[int], int]:
    half, whole = 1 << (bits - 1), 1 << bits

    def signed(number: int) -> int:
        number &= whole - 1
        return number - whole if number >= half else number

    return signed


_VARINTS: Mapping[str, Callable[[int], Any]] = {"int32": _signed(32), "int64": _signed(64), "bool": bool}


def _time(parts: Mapping[str, Any], *, micro: bool) -> str | None:
    """A time as text; nothing for an empty message, which is the zero time."""
    if not parts:
        return None
    seconds, nanos = parts.get("seconds", 0), parts.get("nanos", 0)
    try:
        moment = _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    except OverflowError:
        raise ProtobufError("time is out of range") from None
    date = f"{moment.year:04d}-{moment:%m-%dT%H:%M:%S}"
    return f"{date}.{moment.microsecond:06d}Z" if micro else f"{date}Z"


def _embedded(parts: Mapping[str, Any]) -> Any:
    """JSON kept in a bytes field, whatever the field is called."""
    text = next(iter(parts.values()), "")
    if not text:
        return None
    try:
        return parse_json(b64decode(text))
    except ValueError as error:
        raise ProtobufError(str(error)) from None


def _int_or_string(parts: Mapping[str, Any]) -> Any:
    return parts.get("strVal", "") if parts.get("type") else parts.get("intVal", 0)


_SPECIAL: Mapping[str, Callable[[dict[str, Any]], Any]] = {
    "meta.v1.Time": lambda parts: _time(parts, micro=False),
    "meta.v1.MicroTime": lambda parts: _time(parts, micro=True),
    "meta.v1.FieldsV1": _embedded,
    "runtime.RawExtension": _embedded,
    "apiextensions.v1.JSON": _embedded,
    "intstr.IntOrString": _int_or_string,
    "resource.Quantity": lambda parts: parts.get("string", "0"),
}
"""Messages whose JSON is not an object of their fields."""
