"""JSON bodies: fast for good ones, exact about bad ones."""

import json
import math
import re
from typing import Any

import orjson

from kinepy_server.schema.go_json import DEPTH_MAX, TOO_DEEP, syntax_problem, too_deep

DIGITS_MAX = 4_300
"""Longer numbers are not read: it would take as long as the square of their length."""
_SURROGATES = re.compile("[\ud800-\udfff]")


def parse_json(body: bytes, *, endless_numbers: bool = False) -> Any:
    """The value of a JSON text. Raises ValueError with the original's text.

    Bytes that are no UTF-8 and halves of surrogate pairs become replacement characters, as there. A number that no
    float is large enough for is refused, unless `endless_numbers` are for the reader of the value to judge.
    """
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return _parse_strange(body, endless_numbers=endless_numbers)
    if body.count(b"{") + body.count(b"[") > DEPTH_MAX and too_deep(value):
        raise ValueError(TOO_DEEP)
    return value


def float_of(number: int) -> float:
    """A whole number as a float. Raises ValueError with the original's text where none is large enough."""
    try:
        return float(number)
    except OverflowError:
        raise ValueError(_too_large(str(number))) from None


def _too_large(text: str) -> str:
    return f"json: cannot unmarshal number {text} into Go value of type float64"


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(_too_large(text))
    return number


def _whole(text: str) -> int | float:
    _finite(text)
    number = int(text)
    return number if number.bit_length() < 64 else _finite(text)


def _whole_or_endless(text: str) -> int | float:
    if len(text) > DIGITS_MAX:
        raise ValueError(_too_large(text))
    number = int(text)
    return number if number.bit_length() < 64 or math.isinf(float(text)) else float(text)


def _parse_strange(body: bytes, *, endless_numbers: bool) -> Any:
    problem = syntax_problem(body)
    if problem:
        raise ValueError(problem)
    text = body.decode("utf-8", "replace")
    if endless_numbers:
        return _scrubbed(json.loads(text, parse_int=_whole_or_endless))
    return _scrubbed(json.loads(text, parse_int=_whole, parse_float=_finite))


def _scrubbed(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_SURROGATES.sub("\ufffd", key): _scrubbed(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_scrubbed(member) for member in value]
    return value
