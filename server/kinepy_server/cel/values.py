"""Values of expressions that are not plain JSON values."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kinepy_server.cel.errors import EvaluationError
from kinepy_server.schema.go_numbers import whole_number

INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1
NANOSECONDS = 1_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIMESTAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
_UNITS = {"h": 3600 * NANOSECONDS, "m": 60 * NANOSECONDS, "s": NANOSECONDS, "ms": 10**6}
_UNITS |= {"us": 1000, "µs": 1000, "μs": 1000, "ns": 1}
_FRACTION_DIGITS_MAX = 18
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s|us|µs|μs|ns)", re.ASCII)
_OFFSET = re.compile(r"([+-]?)(\d\d):(\d\d)", re.ASCII)


class UInt(int):
    """An unsigned integer: of another type than int, though of the same value."""

    __slots__ = ()


class Duration(int):
    """A span of time in nanoseconds."""

    __slots__ = ()

    def __str__(self) -> str:
        seconds, rest = divmod(abs(self), NANOSECONDS)
        fraction = f".{rest:09d}".rstrip("0") if rest else ""
        return f"{'-' if self < 0 else ''}{seconds}{fraction}s"


class Timestamp(int):
    """An instant in nanoseconds since 1970."""

    __slots__ = ()

    def __str__(self) -> str:
        seconds, rest = divmod(self, NANOSECONDS)
        fraction = f".{rest:09d}".rstrip("0") if rest else ""
        moment = _EPOCH + timedelta(seconds=seconds)
        return f"{moment.strftime('%Y-%m-%dT%H:%M:%S').zfill(19)}{fraction}Z"

    def at(self, zone: str) -> datetime:
        """The calendar's view in a time zone, by name or offset."""
        try:
            return (_EPOCH + timedelta(seconds=self // NANOSECONDS)).astimezone(_zone(zone))
        except OverflowError:
            raise EvaluationError("timestamp out of range") from None


class TypeValue(str):
    """The type of a value, as type() gives it."""

    __slots__ = ()


class Optional:
    """A value that may be absent."""

    __slots__ = ("present", "value")

    def __init__(self, value: Any = None, *, present: bool = True) -> None:
        self.value, self.present = value, present


NONE = Optional(present=False)


class SetList(list[Any]):
    """A list whose order has no meaning and that has each element once (list type `set`)."""

    __slots__ = ()


class MapList(list[Any]):
    """A list of objects that are told apart by keys (list type `map`)."""

    __slots__ = ("keys",)

    def __init__(self, items: list[Any], keys: tuple[str, ...]) -> None:
        super().__init__(items)
        self.keys = keys

    def identity(self, item: Any) -> tuple[Any, ...]:
        """What tells an element from the others."""
        return tuple(item.get(key) for key in self.keys) if isinstance(item, dict) else (id(item),)


def timestamp_of(text: str) -> Timestamp:
    """The instant of an RFC 3339 text; raises EvaluationError."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise EvaluationError(f"error parsing timestamp: {text}")
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        moment = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), tzinfo=UTC)
        shift = timedelta() if zone in ("Z", "z") else _zone(zone).utcoffset(None) or timedelta()
    except ValueError:
        raise EvaluationError(f"error parsing timestamp: {text}") from None
    seconds = round((moment - _EPOCH).total_seconds()) - round(shift.total_seconds())
    return Timestamp(seconds * NANOSECONDS + int((fraction or "0").ljust(9, "0")[:9]))


def date_of(text: str) -> Timestamp:
    """The instant at which a date begins, or that of a whole timestamp."""
    return timestamp_of(f"{text}T00:00:00Z" if len(text) == len("2000-01-01") else text)


def duration_of(text: str) -> Duration:
    """The duration of a text such as `1h30m`; raises EvaluationError."""
    body = text.lstrip("+-") if text[:1] in ("+", "-") else text
    total, position = 0, 0
    for match in _PART.finditer(body):
        if match.start() != position:
            break
        whole, _, fraction = match.group(1).partition(".")
        unit = _UNITS[match.group(2)]
        number = whole_number(whole or "0")
        if number is None:
            break
        # More digits than these say nothing about nanoseconds.
        fraction = fraction[:_FRACTION_DIGITS_MAX] or "0"
        total += number * unit + int(fraction) * unit // 10 ** len(fraction)
        position = match.end()
    too_long = total > INT_MAX + text.startswith("-")
    if too_long or position != len(body) or (not position and body != "0") or len(text) - len(body) > 1:
        raise EvaluationError(f'time: invalid duration "{text}"')
    return Duration(-total if text.startswith("-") else total)


def _zone(name: str) -> tzinfo:
    if name in ("", "UTC", "Z"):
        return UTC
    match = _OFFSET.fullmatch(name)
    if match is not None:
        sign, hours, minutes = match.groups()
        shift = timedelta(hours=int(hours), minutes=int(minutes))
        return timezone(-shift if sign == "-" else shift)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise EvaluationError(f"unknown time zone {name}") from None


NAMES: dict[type, str] = {
    type(None): "null_type",
    bool: "bool",
    int: "int",
    UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    SetList: "list",
    MapList: "list",
    dict: "map",
    Duration: "google.protobuf.Duration",
    Timestamp: "google.protobuf.Timestamp",
    TypeValue: "type",
    Optional: "optional_type",
}
"""Python's type -> the name of the type in expressions; libraries add their own."""


def name_of(value: Any) -> str:
    """The name of a value's type."""
    found = NAMES.get(type(value))
    if found is not None:
        return found
    made: str = getattr(value, "type_name", "dyn")
    return made


Convert = Callable[[Any], Any]
