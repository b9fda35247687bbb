"""The functions of the language itself."""

import math
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

from kinepy_server.cel.errors import EvaluationError
from kinepy_server.cel.regular import compiled
from kinepy_server.cel.signatures import expression, search, table, traverse, traverse_second
from kinepy_server.cel.values import (
    INT_MAX,
    INT_MIN,
    NANOSECONDS,
    UINT_MAX,
    Duration,
    Timestamp,
    UInt,
    duration_of,
    timestamp_of,
)
from kinepy_server.schema.go_numbers import whole_number


def matches(text: str, pattern: str) -> bool:
    """Whether some part of the text fits a regular expression."""
    return compiled(pattern).search(text) is not None


def _starts(text: str, prefix: str) -> bool:
    return text.startswith(prefix)


def _ends(text: str, suffix: str) -> bool:
    return text.endswith(suffix)


def _contains(text: str, part: str) -> bool:
    return part in text


def _same(value: Any) -> Any:
    return value


def _int(value: float) -> int:
    if math.isnan(value) or math.isinf(value) or not INT_MIN <= value <= INT_MAX:
        raise EvaluationError("integer overflow")
    return int(value)


def _int_of_text(text: str) -> int:
    number = whole_number(text)
    if number is None:
        raise EvaluationError("type conversion error from 'string' to 'int'")
    return number


def _uint(value: float) -> UInt:
    if math.isnan(value) or math.isinf(value) or not 0 <= value <= UINT_MAX:
        raise EvaluationError("unsigned integer overflow")
    return UInt(int(value))


def _uint_of_text(text: str) -> UInt:
    number = whole_number(text, low=0, high=UINT_MAX) if text.isdecimal() else None
    if number is None:
        raise EvaluationError("type conversion error from 'string' to 'uint'")
    return UInt(number)


def _double_of_text(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise EvaluationError("type conversion error from 'string' to 'double'") from None


def _bool_of_text(text: str) -> bool:
    if text in ("1", "t", "T", "true", "TRUE", "True"):
        return True
    if text in ("0", "f", "F", "false", "FALSE", "False"):
        return False
    raise EvaluationError("type conversion error from 'string' to 'bool'")


def _text_of_bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def _text_of_bool(value: bool) -> str:
    return "true" if value else "false"


def double_text(value: float) -> str:
    """A double as the original writes it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    sign, digits, power = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(power, int)
    exponent = len(digits) + power - 1 if value else 0
    if -5 < exponent < _EXPONENT_FROM:
        return f"{Decimal(repr(value)):f}".removesuffix(".0")
    text = "".join(map(str, digits))
    mantissa = f"{text[0]}.{text[1:]}" if len(text) > 1 else text
    return f"{'-' if sign else ''}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


_EXPONENT_FROM = 6
"""From this power of ten on, doubles are written with an exponent."""


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, UInt) else str(value)


def _timestamp(seconds: int) -> Timestamp:
    if not -62135596800 <= seconds <= 253402300799:
        raise EvaluationError("timestamp overflow")
    return Timestamp(seconds * NANOSECONDS)


def _part(read: Callable[[datetime], int]) -> Callable[..., int]:
    def get(moment: Timestamp, zone: str = "UTC") -> int:
        return read(moment.at(zone))

    return get


def _truncated(unit: int) -> Callable[[Duration], int]:
    def get(span: Duration) -> int:
        return -(abs(span) // unit) if span < 0 else span // unit

    return get


_PARTS: dict[str, Callable[[datetime], int]] = {
    "getFullYear": lambda at: at.year,
    "getMonth": lambda at: at.month - 1,
    "getDayOfYear": lambda at: at.timetuple().tm_yday - 1,
    "getDayOfMonth": lambda at: at.day - 1,
    "getDate": lambda at: at.day,
    "getDayOfWeek": lambda at: at.isoweekday() % 7,
    "getHours": lambda at: at.hour,
    "getMinutes": lambda at: at.minute,
    "getSeconds": lambda at: at.second,
}
_UNITS = {"getHours": 3600, "getMinutes": 60, "getSeconds": 1}


def _milliseconds(moment: Timestamp, zone: str = "UTC") -> int:
    return moment // 10**6 % 1000


FUNCTIONS = [
    *table({f"size({kind}) -> int": len for kind in ("string", "bytes", "list<A>", "map<A,B>")}),
    *table({f"{kind}.size() -> int": len for kind in ("string", "bytes", "list<A>", "map<A,B>")}),
    *table(
        {
            "string.contains(string) -> bool": (_contains, search),
            "string.startsWith(string) -> bool": (_starts, traverse_second),
            "string.endsWith(string) -> bool": (_ends, traverse_second),
            "string.matches(string) -> bool": (matches, expression),
            "matches(string, string) -> bool": (matches, expression),
            "int(int) -> int": _same,
            "int(uint) -> int": _int,
            "int(double) -> int": _int,
            "int(string) -> int": (_int_of_text, traverse),
            "int(timestamp) -> int": lambda moment: moment // NANOSECONDS,
            "uint(uint) -> uint": _same,
            "uint(int) -> uint": _uint,
            "uint(double) -> uint": _uint,
            "uint(string) -> uint": (_uint_of_text, traverse),
            "double(double) -> double": _same,
            "double(int) -> double": float,
            "double(uint) -> double": float,
            "double(string) -> double": (_double_of_text, traverse),
            "string(string) -> string": _same,
            "string(int) -> string": _text,
            "string(uint) -> string": _text,
            "string(double) -> string": double_text,
            "string(bool) -> string": _text_of_bool,
            "string(bytes) -> string": (_text_of_bytes, traverse),
            "string(timestamp) -> string": str,
            "string(duration) -> string": str,
            "bytes(bytes) -> bytes": _same,
            "bytes(string) -> bytes": (str.encode, traverse),
            "bool(bool) -> bool": _same,
            "bool(string) -> bool": _bool_of_text,
            "timestamp(timestamp) -> timestamp": _same,
            "timestamp(string) -> timestamp": timestamp_of,
            "timestamp(int) -> timestamp": _timestamp,
            "duration(duration) -> duration": _same,
            "duration(string) -> duration": duration_of,
            "dyn(A) -> dyn": _same,
        }
    ),
    *table({f"{name}() -> int": _part(read) for name, read in _PARTS.items()}, methods_of="timestamp"),
    *table({f"{name}(string) -> int": _part(read) for name, read in _PARTS.items()}, methods_of="timestamp"),
    *table({"getMilliseconds() -> int": _milliseconds}, methods_of="timestamp"),
    *table({"getMilliseconds(string) -> int": _milliseconds}, methods_of="timestamp"),
    *table(
        {f"{name}() -> int": _truncated(seconds * NANOSECONDS) for name, seconds in _UNITS.items()},
        methods_of="duration",
    ),
    *table({"getMilliseconds() -> int": lambda span: int(span) // 10**6 % 1000}, methods_of="duration"),
]
