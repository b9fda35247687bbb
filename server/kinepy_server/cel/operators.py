"""Equality, order, arithmetic and access, as the language defines them for values of any type."""

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from kinepy_server.cel.errors import EvaluationError, no_such_overload
from kinepy_server.cel.values import (
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    Duration,
    MapList,
    Optional,
    SetList,
    Timestamp,
    TypeValue,
    UInt,
)

NUMBERS = frozenset((int, float, UInt))
_LISTS = frozenset((list, SetList, MapList))
_TIMESTAMP_MIN, _TIMESTAMP_MAX = -62135596800 * 10**9, 253402300800 * 10**9 - 1


def equal(left: Any, right: Any) -> bool:
    """Equality: numbers across their types, lists by their list type, values of different types differ."""
    kind, other = type(left), type(right)
    if kind is other and kind not in _DEEP:
        return bool(left == right)
    if kind in NUMBERS:
        return other in NUMBERS and left == right
    if kind in _LISTS and other in _LISTS:
        return _equal_lists(left, right)
    if kind is dict and other is dict:
        return len(left) == len(right) and all(
            key in right and equal(value, right[key]) for key, value in left.items()
        )
    if kind is Optional and other is Optional:
        return left.present == right.present and (not left.present or equal(left.value, right.value))
    return False


def _equal_lists(left: list[Any], right: list[Any]) -> bool:
    if len(left) != len(right):
        return False
    if isinstance(left, SetList):
        return all(contains(right, item) for item in left)
    if isinstance(left, MapList):
        others = {left.identity(item): item for item in right}
        return all(equal(item, others.get(left.identity(item))) for item in left)
    return all(equal(one, two) for one, two in zip(left, right, strict=True))


_DEEP = _LISTS | {dict, Optional}


def contains(container: Any, item: Any) -> bool:
    """`item in container`: an element of a list or a key of a map."""
    if isinstance(container, dict):
        return has_key(container, item)
    if isinstance(container, list):
        if type(item) is str:
            return item in container
        return any(equal(item, other) for other in container)
    raise no_such_overload()


def has_key(mapping: dict[Any, Any], key: Any) -> bool:
    """Whether a map has a key; true is not 1, but 1.0 is."""
    if type(key) is bool or (key in (0, 1) and type(key) is not str):
        return any(equal(known, key) for known in mapping)
    try:
        return key in mapping
    except TypeError:
        return False


def index(container: Any, key: Any) -> Any:
    """`container[key]`."""
    if isinstance(container, dict):
        if not has_key(container, key):
            raise EvaluationError(f"no such key: {shown(key)}")
        return container[key]
    if isinstance(container, list):
        if type(key) is float and key.is_integer():
            key = int(key)
        if type(key) not in (int, UInt):
            raise EvaluationError(f"unsupported index type '{type_name(key)}' in list")
        if not 0 <= key < len(container):
            raise EvaluationError(f"index out of bounds: {key}")
        return container[key]
    raise no_such_overload()


def shown(value: Any) -> str:
    """A value inside an error message."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def type_name(value: Any) -> str:
    """The name of a value's type, for messages."""
    from kinepy_server.cel.values import name_of

    return name_of(value)


def _checked(kind: type, value: int) -> Any:
    low, high = _RANGES[kind]
    if not low <= value <= high:
        raise EvaluationError(_OVERFLOWS[kind])
    return kind(value) if kind is not int else value


_RANGES: Mapping[type, tuple[int, int]] = {
    int: (INT_MIN, INT_MAX),
    UInt: (0, UINT_MAX),
    Duration: (INT_MIN, INT_MAX),
    Timestamp: (_TIMESTAMP_MIN, _TIMESTAMP_MAX),
}
_OVERFLOWS: Mapping[type, str] = {
    int: "integer overflow",
    UInt: "unsigned integer overflow",
    Duration: "integer overflow",
    Timestamp: "timestamp overflow",
}
_MIXED = {
    ("+", Duration, Duration): Duration,
    ("+", Timestamp, Duration): Timestamp,
    ("+", Duration, Timestamp): Timestamp,
    ("-", Duration, Duration): Duration,
    ("-", Timestamp, Duration): Timestamp,
    ("-", Timestamp, Timestamp): Duration,
}


def add(left: Any, right: Any) -> Any:
    """`left + right`."""
    kind, other = type(left), type(right)
    if kind is other:
        if kind is int:
            total = left + right
            return total if INT_MIN <= total <= INT_MAX else _checked(int, total)
        if kind is str or kind is bytes or kind is float:
            return left + right
        if kind is UInt:
            return _checked(kind, int(left) + int(right))
    if kind in _LISTS and other in _LISTS:
        return _joined(left, right)
    return _in_time("+", left, right)


def _joined(left: list[Any], right: list[Any]) -> list[Any]:
    if isinstance(left, SetList):
        return SetList([*left, *(item for item in right if not contains(left, item))])
    if isinstance(left, MapList):
        changed = {left.identity(item): item for item in right}
        kept = [changed.pop(left.identity(item), item) for item in left]
        return MapList([*kept, *changed.values()], left.keys)
    return [*left, *right]


def subtract(left: Any, right: Any) -> Any:
    """`left - right`."""
    kind = type(left)
    if kind is type(right):
        if kind is float:
            return left - right
        if kind is int or kind is UInt:
            return _checked(kind, int(left) - int(right))
    return _in_time("-", left, right)


def _in_time(symbol: str, left: Any, right: Any) -> Any:
    result = _MIXED.get((symbol, type(left), type(right)))
    if result is None:
        raise no_such_overload()
    other = int(right)
    return _checked(result, int(left) + (other if symbol == "+" else -other))


def multiply(left: Any, right: Any) -> Any:
    """`left * right`."""
    kind = type(left)
    if kind is type(right):
        if kind is float:
            return left * right
        if kind is int or kind is UInt:
            return _checked(kind, int(left) * int(right))
    raise no_such_overload()


def divide(left: Any, right: Any) -> Any:
    """`left / right`; whole numbers are rounded towards zero."""
    kind = type(left)
    if kind is type(right):
        if kind is float:
            return _divided(left, right)
        if kind is int or kind is UInt:
            if not right:
                raise EvaluationError("division by zero")
            quotient = abs(int(left)) // abs(int(right))
            return _checked(kind, -quotient if (left < 0) != (right < 0) else quotient)
    raise no_such_overload()


def _divided(left: float, right: float) -> float:
    if right:
        return left / right
    if not left or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def modulo(left: Any, right: Any) -> Any:
    """`left % right`, with the sign of `left`."""
    kind = type(left)
    if kind is type(right) and (kind is int or kind is UInt):
        if not right:
            raise EvaluationError("modulus by zero")
        rest = abs(int(left)) % abs(int(right))
        return kind(-rest if left < 0 else rest)
    raise no_such_overload()


def negate(value: Any) -> Any:
    """`-value`."""
    if type(value) is float:
        return -value
    if type(value) is int:
        return _checked(int, -value)
    raise no_such_overload()


def negation(value: Any) -> bool:
    """`!value`."""
    if value is True:
        return False
    if value is False:
        return True
    raise no_such_overload()


_ORDERED = frozenset((str, bytes, bool, Duration, Timestamp))


def compared(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """An order of values: of numbers across their types, else of values of one type."""

    def compare(left: Any, right: Any) -> bool:
        kind, other = type(left), type(right)
        if (kind is other and kind in _ORDERED) or (kind in NUMBERS and other in NUMBERS):
            return test(left, right)
        raise no_such_overload()

    return compare


def not_equal(left: Any, right: Any) -> bool:
    """`left != right`."""
    return not equal(left, right)


def within(item: Any, container: Any) -> bool:
    """`item in container`."""
    return contains(container, item)


def type_of(value: Any) -> TypeValue:
    """`type(value)`."""
    return TypeValue(type_name(value))


BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "_==_": equal,
    "_!=_": not_equal,
    "_<_": compared(operator.lt),
    "_<=_": compared(operator.le),
    "_>_": compared(operator.gt),
    "_>=_": compared(operator.ge),
    "_+_": add,
    "_-_": subtract,
    "_*_": multiply,
    "_/_": divide,
    "_%_": modulo,
    "@in": within,
    "_[_]": index,
}
