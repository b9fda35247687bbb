"""How the original writes JSON values into messages: Go's `%v`, `%#v` and `%T`."""

import math
from typing import Any

import orjson

_PLAIN_DIGITS = 6
"""A float with a larger exponent than digits are plain is written with that exponent."""


def go_text(value: Any) -> str:
    """A value as `%v` writes it, such as `map[a:1 b:[x y]]`."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case float():
            return _float(value)
        case dict():
            return f"map[{' '.join(f'{name}:{go_text(value[name])}' for name in sorted(value))}]"
        case list():
            return f"[{' '.join(map(go_text, value))}]"
        case _:
            return str(value)


def go_syntax(value: Any) -> str:
    """A value as `%#v` writes it, such as `map[string]interface {}{"a":1}`."""
    match value:
        case None:
            return "interface {}(nil)"
        case str():
            return orjson.dumps(value).decode()
        case dict():
            members = (f"{go_syntax(name)}:{go_syntax(value[name])}" for name in sorted(value))
            return f"map[string]interface {{}}{{{', '.join(members)}}}"
        case list():
            return f"[]interface {{}}{{{', '.join(map(go_syntax, value))}}}"
        case _:
            return go_text(value)


def go_type(value: Any) -> str:
    """The type of a value as `%T` names it."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "bool"
        case str():
            return "string"
        case int():
            return "int64"
        case float():
            return "float64"
        case dict():
            return "map[string]interface {}"
        case _:
            return "[]interface {}"


def _float(value: float) -> str:
    text = repr(value)
    if value == 0 or not math.isfinite(value):
        return text.removesuffix(".0")
    exponent = int(f"{value:.16e}".partition("e")[2])
    if -4 <= exponent < _PLAIN_DIGITS:
        return text.removesuffix(".0")
    digits = _digits(text)
    sign = "-" if value < 0 else ""
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _digits(text: str) -> str:
    """The shortest digits that stand for a float, without zeros around them."""
    return text.lstrip("-").partition("e")[0].replace(".", "").strip("0")
