"""Quantities: numbers with a suffix, such as `500m`, `1Gi` and `1e3`, and their canonical form."""

import re
from decimal import ROUND_CEILING, Decimal, localcontext
from functools import lru_cache

_FORM = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)([eE][+-]?\d+|[KMGTPE]i|[numkMGTPE]|)", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX = {power: suffix for suffix, power in _BINARY.items()}
NANO, MILLI = -9, -3
_DIGITS_MAX = 1000
_EXPONENT_MAX = 1000
# Exact for every number within these bounds, and still short enough for int() to take the digits.
_PRECISION = 2 * (_DIGITS_MAX + _EXPONENT_MAX)
_REGEXP = "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
WRONG_FORM = f"quantities must match the regular expression {_REGEXP}"
WRONG_SUFFIX = "unable to parse quantity's suffix"
_LOOSE = re.compile(r"[+-]?[0-9.]+([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)


class BadQuantity(ValueError):
    """The text is no quantity; the message is the original's."""


@lru_cache(maxsize=8192)
def canonical(text: str, *, finest: int = NANO) -> str:
    """The canonical form, with no digits finer than a power of ten, which are rounded away from zero.

    A text whose number needs no other form is kept, with its plus sign and leading zeros. Raises BadQuantity.
    """
    text = text.strip()
    value, suffix = _parsed(text)
    rounded = _rounded(value, finest)
    number, new_suffix = _shortest(rounded, suffix)
    shown = f"{number}{new_suffix}"
    return text if rounded == value and _plain(text) == shown else shown


@lru_cache(maxsize=8192)
def quantity_value(text: str) -> Decimal:
    """The number. Raises BadQuantity."""
    return _parsed(text.strip())[0]


def _parsed(text: str) -> tuple[Decimal, str]:
    match = _FORM.fullmatch(text)
    if match is None:
        raise BadQuantity(WRONG_SUFFIX if text and _LOOSE.fullmatch(text) else WRONG_FORM)
    sign, digits, suffix = match.groups()
    if len(digits) > _DIGITS_MAX:
        raise BadQuantity(WRONG_FORM)
    with localcontext(prec=_PRECISION):
        value = Decimal(f"{sign}{digits}")
        if suffix in _BINARY:
            return value * 1024 ** _BINARY[suffix], suffix
        exponent = _DECIMAL[suffix] if suffix in _DECIMAL else _exponent(suffix[1:])
        return value.scaleb(exponent), suffix


def _exponent(text: str) -> int:
    """The number after the e, without trying to read one that is far too long."""
    digits = text.lstrip("+-").lstrip("0") or "0"
    if len(digits) > len(str(_EXPONENT_MAX)) or int(digits) > _EXPONENT_MAX:
        raise BadQuantity(WRONG_SUFFIX)
    return -int(digits) if text.startswith("-") else int(digits)


def _rounded(value: Decimal, finest: int) -> Decimal:
    with localcontext(prec=_PRECISION):
        rounded = abs(value).quantize(Decimal(1).scaleb(finest), rounding=ROUND_CEILING)
        rounded = rounded.copy_sign(value)
        return value if rounded == value else rounded


def _shortest(value: Decimal, suffix: str) -> tuple[int, str]:
    """The whole number and suffix of a value, in the family that the suffix is of."""
    if suffix in _BINARY and (abs(value) >= 1024 or value == 0) and value == value.to_integral_value():
        number, power = int(value), 0
        while number and number % 1024 == 0 and power < max(_BINARY_SUFFIX):
            number, power = number // 1024, power + 1
        return number, _BINARY_SUFFIX.get(power, "")
    if suffix in _BINARY and value == value.to_integral_value():
        return int(value), ""
    exponential = suffix[:1] in ("e", "E") and len(suffix) > 1
    return _decimal(value, exponential=exponential)


def _decimal(value: Decimal, *, exponential: bool) -> tuple[int, str]:
    if value == 0:
        return 0, ""
    with localcontext(prec=_PRECISION):
        sign, digits, exponent = value.normalize().as_tuple()
    assert isinstance(exponent, int)
    while exponent % 3:
        digits, exponent = (*digits, 0), exponent - 1
    if not exponential:
        while exponent > max(_DECIMAL_SUFFIX):
            digits, exponent = (*digits, 0, 0, 0), exponent - 3
    number = int("".join(map(str, digits))) * (-1 if sign else 1)
    if exponential:
        return number, f"e{exponent}" if exponent else ""
    return number, _DECIMAL_SUFFIX[exponent]


def _plain(text: str) -> str:
    """A text without what does not change its number: plus sign, leading zeros, a dot at the end."""
    match = _FORM.fullmatch(text)
    assert match is not None
    sign, digits, suffix = match.groups()
    digits = digits.removesuffix(".").lstrip("0") or "0"
    return f"{sign.replace('+', '')}{digits}{suffix}"
