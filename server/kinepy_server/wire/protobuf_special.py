"""Messages whose JSON is something else than an object of their fields, both ways.

`READ` makes the JSON value of a message from its fields, in which bytes are bytes. `WRITE` makes the
message's content from the JSON value; None stands for the zero value.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, TypeAlias

import orjson

from kinepy_server.schema.decode import decode
from kinepy_server.wire.json_text import parse_json
from kinepy_server.wire.protobuf_wire import BYTES, VARINT, ProtobufError, chunk, tag_of, varint

Parts: TypeAlias = Mapping[str, Any]
Read: TypeAlias = Callable[[Parts], Any]
Write: TypeAlias = Callable[[Any], bytes]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _SECOND = tag_of(1, VARINT), tag_of(2, VARINT)
_FIRST_BYTES, _SECOND_BYTES, _THIRD_BYTES = (tag_of(number, BYTES) for number in (1, 2, 3))


def read_time(parts: Parts) -> str | None:
    """A time of whole seconds; nothing for an empty message, which is the zero time."""
    return f"{_moment(parts).isoformat()[:19]}Z" if parts else None


def read_micro_time(parts: Parts) -> str | None:
    """A time with exactly six digits."""
    return f"{_moment(parts).isoformat(timespec='microseconds')[:26]}Z" if parts else None


def _moment(parts: Parts) -> datetime:
    try:
        return _EPOCH + timedelta(seconds=parts.get("seconds", 0), microseconds=parts.get("nanos", 0) // 1000)
    except OverflowError:
        raise ProtobufError("time is out of range") from None


@lru_cache(maxsize=4096)
def write_time(text: str | None) -> bytes:
    """Seconds and nanoseconds since 1970. The same instant is often told many times."""
    if text is None:
        return b""
    since = datetime.fromisoformat(text) - _EPOCH
    return _FIRST + varint(since.days * 86400 + since.seconds) + _SECOND + varint(since.microseconds * 1000)


def _read_embedded(parts: Parts) -> Any:
    """JSON kept in a bytes field, whatever the field is called."""
    text = next(iter(parts.values()), b"")
    if not text:
        return None
    try:
        return parse_json(text)
    except ValueError as error:
        raise ProtobufError(str(error)) from None


def _schema(value: Any) -> Any:
    """A JSON schema without what nobody set: no type describes it where it can be something else, too."""
    return None if value is None else decode("apiextensions.v1.JSONSchemaProps", value)[0]


def _write_embedded(value: Any) -> bytes:
    return b"" if value is None else chunk(_FIRST_BYTES, orjson.dumps(value))


def _write_int_or_string(value: Any) -> bytes:
    is_text = type(value) is str
    kind, number, text = (1, 0, value) if is_text else (0, value or 0, "")
    return _FIRST + varint(kind) + _SECOND + varint(number) + chunk(_THIRD_BYTES, text.encode())


def _write_quantity(value: Any) -> bytes:
    return chunk(_FIRST_BYTES, (value or "0").encode())


_DURATION = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_UNITS_NS = {
    "ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9,
}  # fmt: skip


def write_duration(text: str | None) -> bytes:
    """A duration such as `1h0m0.5s`, in nanoseconds."""
    total = 0
    for number, unit in _DURATION.findall(text or ""):
        whole, _, fraction = number.partition(".")
        total += int(whole or 0) * _UNITS_NS[unit]
        total += int(fraction or "0") * _UNITS_NS[unit] // 10 ** len(fraction)
    return _FIRST + varint(-total if (text or "").startswith("-") else total)


def read_duration(parts: Parts) -> str:
    """As text: hours, minutes and seconds from one second on, else one unit."""
    total = parts.get("duration", 0)
    sign, rest = ("-", -total) if total < 0 else ("", total)
    if not rest:
        return "0s"
    for unit in ("s", "ms", "us"):
        if rest >= _UNITS_NS[unit]:
            break
    else:
        unit = "ns"
    hours, minutes = (rest // _UNITS_NS["h"], rest // _UNITS_NS["m"] % 60) if unit == "s" else (0, 0)
    rest -= hours * _UNITS_NS["h"] + minutes * _UNITS_NS["m"]
    whole, fraction = divmod(rest, _UNITS_NS[unit])
    digits = len(str(_UNITS_NS[unit])) - 1
    shown = f"{whole}.{fraction:0{digits}d}".rstrip("0").rstrip(".") if fraction else str(whole)
    front = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{front}{shown}{'µs' if unit == 'us' else unit}"


READ: Mapping[str, Read] = {
    "meta.v1.Time": read_time,
    "meta.v1.MicroTime": read_micro_time,
    "meta.v1.Duration": read_duration,
    "meta.v1.FieldsV1": _read_embedded,
    "runtime.RawExtension": _read_embedded,
    "apiextensions.v1.JSON": _read_embedded,
    "intstr.IntOrString": lambda parts: parts.get("strVal", "") if parts.get("type") else parts.get("intVal", 0),
    "resource.Quantity": lambda parts: parts.get("string") or "0",
    "resource.QuantityValue": lambda parts: parts.get("string") or "0",
    "apiextensions.v1.JSONSchemaPropsOrArray": lambda parts: (
        [_schema(schema) for schema in parts["jSONSchemas"]] if "jSONSchemas" in parts else _schema(parts.get("schema"))
    ),
    "apiextensions.v1.JSONSchemaPropsOrBool": lambda parts: (
        _schema(parts["schema"]) if "schema" in parts else parts.get("allows", False)
    ),
    "apiextensions.v1.JSONSchemaPropsOrStringArray": lambda parts: (
        parts["property"] if "property" in parts else _schema(parts.get("schema"))
    ),
    **{name: lambda parts: parts.get("items", []) for name in (
        "authentication.v1.ExtraValue", "authorization.v1.ExtraValue", "certificates.v1.ExtraValue", "meta.v1.Verbs",
    )},
}  # fmt: skip
"""message -> the JSON value of its fields."""

WRITE: Mapping[str, Write] = {
    "meta.v1.Time": write_time,
    "meta.v1.MicroTime": write_time,
    "meta.v1.Duration": write_duration,
    "meta.v1.FieldsV1": _write_embedded,
    "runtime.RawExtension": _write_embedded,
    "apiextensions.v1.JSON": _write_embedded,
    "intstr.IntOrString": _write_int_or_string,
    "resource.Quantity": _write_quantity,
    "resource.QuantityValue": _write_quantity,
}
"""message -> its content, for those that are not written by their table."""

PARTS: Mapping[str, Callable[[Any], Parts]] = {
    "apiextensions.v1.JSONSchemaPropsOrArray": lambda value: (
        {"jSONSchemas": value} if isinstance(value, list) else {"schema": value}
    ),
    "apiextensions.v1.JSONSchemaPropsOrBool": lambda value: (
        {"allows": value} if isinstance(value, bool) else {"allows": True, "schema": value}
    ),
    "apiextensions.v1.JSONSchemaPropsOrStringArray": lambda value: (
        {"property": value} if isinstance(value, list) else {"schema": value}
    ),
    **{name: lambda value: {"items": value} for name in (
        "authentication.v1.ExtraValue", "authorization.v1.ExtraValue", "certificates.v1.ExtraValue", "meta.v1.Verbs",
    )},
}  # fmt: skip
"""message -> the fields that its JSON value stands for; the table does the rest."""
