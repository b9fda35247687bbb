"""Quantities such as `500Mi`, and semantic versions."""

import re
from collections.abc import Callable
from decimal import Decimal
from functools import total_ordering
from typing import Any

from kinepy_server.cel.errors import EvaluationError
from kinepy_server.cel.signatures import table, traverse
from kinepy_server.cel.values import INT_MAX, INT_MIN, NAMES
from kinepy_server.schema.go_numbers import UINT64_MAX, whole_number
from kinepy_server.schema.quantity import BadQuantity, quantity_value

_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?", re.ASCII
)
_LENIENT = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(.*)", re.ASCII)


class Quantity:
    """A number with a unit; equal when the numbers are."""

    __slots__ = ("number",)

    def __init__(self, number: Decimal) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.number == other.number

    def __hash__(self) -> int:
        return hash(self.number)


@total_ordering
class Semver:
    """A semantic version; build metadata does not count in comparisons."""

    __slots__ = ("numbers", "pre")

    def __init__(self, numbers: tuple[int, int, int], pre: str) -> None:
        self.numbers, self.pre = numbers, pre

    def _order(self) -> tuple[Any, ...]:
        parts = [
            (0, int(part), "") if part.isdecimal() else (1, 0, part)
            for part in self.pre.split(".")
            if self.pre
        ]
        return (self.numbers, not self.pre, parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self._order() == other._order()

    def __lt__(self, other: "Semver") -> bool:
        return self._order() < other._order()

    def __hash__(self) -> int:
        return hash((self.numbers, self.pre))


NAMES.update({Quantity: "kubernetes.Quantity", Semver: "kubernetes.Semver"})


def _quantity(text: str) -> Quantity:
    try:
        return Quantity(quantity_value(text))
    except BadQuantity as error:
        raise EvaluationError(str(error)) from None


def _succeeds(parse: Callable[..., Any]) -> Callable[..., bool]:
    def test(*args: Any) -> bool:
        try:
            parse(*args)
        except EvaluationError:
            return False
        return True

    return test


def _whole(quantity: Quantity) -> bool:
    number = quantity.number
    return number == number.to_integral_value() and INT_MIN <= number <= INT_MAX


def _as_integer(quantity: Quantity) -> int:
    if not _whole(quantity):
        raise EvaluationError("cannot convert value to integer")
    return int(quantity.number)


def _plus(quantity: Quantity, other: Any) -> Quantity:
    return Quantity(quantity.number + (other.number if isinstance(other, Quantity) else other))


def _minus(quantity: Quantity, other: Any) -> Quantity:
    return Quantity(quantity.number - (other.number if isinstance(other, Quantity) else other))


def _compared(one: Any, other: Any) -> int:
    return int(one > other) - int(one < other)


def _sign(quantity: Quantity) -> int:
    return _compared(quantity.number, 0)


def _semver(text: str, normalize: bool = False) -> Semver:
    lenient = _LENIENT.fullmatch(text) if normalize else None
    if lenient is not None:
        numbers = ".".join((number or "0").lstrip("0") or "0" for number in lenient.groups()[:3])
        text = f"{numbers}{lenient[4]}"
    match = _SEMVER.fullmatch(text)
    parts = (match[4] or "").split(".") if match is not None else []
    bad = any(part.isdecimal() and (_too_large(part) or (part[0] == "0" and part != "0")) for part in parts)
    if match is None or bad or (match[4] and not all(parts)) or any(map(_too_large, match.group(1, 2, 3))):
        raise EvaluationError(f"No Major.Minor.Patch elements found: {text}")
    return Semver((int(match[1]), int(match[2]), int(match[3])), match[4] or "")


def _too_large(digits: str) -> bool:
    return whole_number(digits, high=UINT64_MAX) is None


FUNCTIONS = [
    *table(
        {
            "quantity(string) -> quantity": (_quantity, traverse),
            "isQuantity(string) -> bool": (_succeeds(_quantity), traverse),
            "semver(string) -> semver": (_semver, traverse),
            "semver(string, bool) -> semver": (_semver, traverse),
            "isSemver(string) -> bool": (_succeeds(_semver), traverse),
            "isSemver(string, bool) -> bool": (_succeeds(_semver), traverse),
        }
    ),
    *table(
        {
            "sign() -> int": _sign,
            "isInteger() -> bool": _whole,
            "asInteger() -> int": _as_integer,
            "asApproximateFloat() -> double": lambda quantity: float(quantity.number),
            "add(quantity) -> quantity": _plus,
            "add(int) -> quantity": _plus,
            "sub(quantity) -> quantity": _minus,
            "sub(int) -> quantity": _minus,
            "isLessThan(quantity) -> bool": lambda one, other: one.number < other.number,
            "isGreaterThan(quantity) -> bool": lambda one, other: one.number > other.number,
            "compareTo(quantity) -> int": lambda one, other: _compared(one.number, other.number),
        },
        methods_of="quantity",
    ),
    *table(
        {
            "major() -> int": lambda version: version.numbers[0],
            "minor() -> int": lambda version: version.numbers[1],
            "patch() -> int": lambda version: version.numbers[2],
            "isLessThan(semver) -> bool": lambda one, other: one < other,
            "isGreaterThan(semver) -> bool": lambda one, other: one > other,
            "compareTo(semver) -> int": _compared,
        },
        methods_of="semver",
    ),
]
