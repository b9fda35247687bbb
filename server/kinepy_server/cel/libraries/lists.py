"""Functions on lists, sets of elements, and optional values."""

from collections.abc import Callable, Iterator
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from kinepy_server.cel.errors import EvaluationError
from kinepy_server.cel.operators import BINARY, add, contains, equal
from kinepy_server.cel.signatures import elements, pairs, squares, table
from kinepy_server.cel.values import NONE, Duration, Optional, UInt

_less: Callable[[Any, Any], bool] = BINARY["_<_"]
_ORDERED = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_ZEROS: dict[str, Any] = {"int": 0, "uint": UInt(0), "double": 0.0, "duration": Duration(0)}
_RANGE_MAX = 100_000


def _is_sorted(items: list[Any]) -> bool:
    return not any(_less(after, before) for before, after in pairwise(items))


def _sum_from(zero: Any) -> Callable[[list[Any]], Any]:
    def total(items: list[Any]) -> Any:
        result = items[0] if items else zero
        for item in items[1:]:
            result = add(result, item)
        return result

    return total


def _extreme(name: str, *, smallest: bool) -> Callable[[list[Any]], Any]:
    def find(items: list[Any]) -> Any:
        if not items:
            raise EvaluationError(f"{name} called on empty list")
        found = items[0]
        for item in items[1:]:
            if _less(item, found) if smallest else _less(found, item):
                found = item
        return found

    return find


def _index_of(items: list[Any], wanted: Any) -> int:
    return next((place for place, item in enumerate(items) if equal(item, wanted)), -1)


def _last_index_of(items: list[Any], wanted: Any) -> int:
    backwards = range(len(items) - 1, -1, -1)
    return next((place for place in backwards if equal(items[place], wanted)), -1)


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0 or start > end or end > len(items):
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def _flat(items: list[Any], depth: int) -> Iterator[Any]:
    for item in items:
        if isinstance(item, list) and depth > 0:
            yield from _flat(item, depth - 1)
        else:
            yield item


def _flatten(items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    return list(_flat(items, min(depth, 100)))


def _distinct(items: list[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if not contains(found, item):
            found.append(item)
    return found


def sorted_by(items: list[Any], keys: list[Any]) -> list[Any]:
    """The items in the order of their keys."""

    def order(one: int, other: int) -> int:
        return -1 if _less(keys[one], keys[other]) else int(_less(keys[other], keys[one]))

    return [items[place] for place in sorted(range(len(items)), key=cmp_to_key(order))]


def _sort(items: list[Any]) -> list[Any]:
    return sorted_by(items, items)


def _range(count: int) -> list[int]:
    if count > _RANGE_MAX:
        raise EvaluationError(f"lists.range size {count} is too large")
    return list(range(count))


def _reversed(items: list[Any]) -> list[Any]:
    return items[::-1]


def _first(items: list[Any]) -> Optional:
    return Optional(items[0]) if items else NONE


def _last(items: list[Any]) -> Optional:
    return Optional(items[-1]) if items else NONE


def _includes(items: list[Any], others: list[Any]) -> bool:
    return all(contains(items, other) for other in others)


def _intersects(items: list[Any], others: list[Any]) -> bool:
    return any(contains(items, other) for other in others)


def _equivalent(items: list[Any], others: list[Any]) -> bool:
    return _includes(items, others) and _includes(others, items)


def _value(optional: Optional) -> Any:
    if not optional.present:
        raise EvaluationError("optional.none() dereference")
    return optional.value


def _of_non_zero(value: Any) -> Optional:
    empty = value is None or (not value and type(value) is not Optional)
    return NONE if empty else Optional(value)


FUNCTIONS = [
    *table({f"list<{kind}>.isSorted() -> bool": (_is_sorted, elements) for kind in _ORDERED}),
    *table({f"list<{kind}>.sum() -> {kind}": (_sum_from(zero), elements) for kind, zero in _ZEROS.items()}),
    *table(
        {f"list<{kind}>.min() -> {kind}": (_extreme("min", smallest=True), elements) for kind in _ORDERED}
    ),
    *table(
        {f"list<{kind}>.max() -> {kind}": (_extreme("max", smallest=False), elements) for kind in _ORDERED}
    ),
    *table(
        {
            "indexOf(A) -> int": (_index_of, elements),
            "lastIndexOf(A) -> int": (_last_index_of, elements),
            "slice(int, int) -> list<A>": (_slice, elements),
            "flatten() -> list<dyn>": (_flatten, elements),
            "flatten(int) -> list<dyn>": (_flatten, elements),
            "distinct() -> list<A>": (_distinct, squares),
            "reverse() -> list<A>": (_reversed, elements),
            "sort() -> list<A>": (_sort, squares),
            "first() -> optional<A>": _first,
            "last() -> optional<A>": _last,
        },
        methods_of="list<A>",
    ),
    *table(
        {
            "lists.range(int) -> list<int>": _range,
            "sets.contains(list<A>, list<A>) -> bool": (_includes, pairs),
            "sets.equivalent(list<A>, list<A>) -> bool": (_equivalent, pairs),
            "sets.intersects(list<A>, list<A>) -> bool": (_intersects, pairs),
            "optional.of(A) -> optional<A>": Optional,
            "optional.none() -> optional<A>": lambda: NONE,
            "optional.ofNonZeroValue(A) -> optional<A>": _of_non_zero,
            "optional<A>.hasValue() -> bool": lambda optional: optional.present,
            "optional<A>.value() -> A": _value,
            "optional<A>.or(optional<A>) -> optional<A>": lambda one, other: one if one.present else other,
            "optional<A>.orValue(A) -> A": lambda one, other: one.value if one.present else other,
        }
    ),
]
