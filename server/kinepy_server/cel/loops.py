"""The macros over lists and maps as closures. Every turn is paid for before it is run."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from kinepy_server.cel.errors import CostExceeded, EvaluationError, no_such_overload
from kinepy_server.cel.libraries.lists import sorted_by
from kinepy_server.cel.nodes import Comprehension, OptionalMap
from kinepy_server.cel.values import NONE, Optional

Frame: TypeAlias = list[Any]
Evaluate: TypeAlias = Callable[[Frame], Any]
Turns: TypeAlias = Callable[[Frame], Iterable[Any]]
"""Sets the variables for one element after the other, and gives what the element is kept under."""


def comprehension(node: Comprehension, source: Evaluate, exprs: Sequence[Evaluate], *, cost: int) -> Evaluate:
    """The closure of a macro; `cost` is that of one turn."""
    if node.kind in _DECISIVE:
        return _quantified(node, source, exprs[0], cost=cost)
    return _KINDS[node.kind](node, _turns(node, source, cost=cost), exprs)


def _pairs(values: Any, *, single: bool) -> Iterable[tuple[Any, Any]]:
    """What the variables are set to in each turn; both are one when there is one only."""
    if isinstance(values, dict):
        return values.items()
    if isinstance(values, list):
        return zip(values, values, strict=True) if single else enumerate(values)
    raise no_such_overload()


def _turns(node: Comprehension, source: Evaluate, *, cost: int) -> Turns:
    first, second = node.slots[0], node.slots[-1]
    single = len(node.slots) == 1

    def turns(frame: Frame) -> Iterable[Any]:
        for key, value in _pairs(source(frame), single=single):
            frame[0] -= cost
            if frame[0] < 0:
                raise CostExceeded
            frame[second] = value
            frame[first] = key
            yield key

    return turns


def _tested(frame: Frame, test: Evaluate) -> bool:
    value = test(frame)
    if value is True or value is False:
        return bool(value)
    raise no_such_overload()


_DECISIVE = {"all": False, "exists": True}
"""The value of an element that decides the macro; an error counts only if no element decides."""


def _quantified(node: Comprehension, source: Evaluate, test: Evaluate, *, cost: int) -> Evaluate:
    """all() and exists(), the macros that are used most: written out, since a generator costs as much as a test."""
    first, second = node.slots[0], node.slots[-1]
    single, decisive = len(node.slots) == 1, _DECISIVE[node.kind]
    other = not decisive

    def decide(frame: Frame) -> bool:
        failed: EvaluationError | None = None
        for key, value in _pairs(source(frame), single=single):
            left = frame[0] - cost
            if left < 0:
                raise CostExceeded
            frame[0], frame[second] = left, value
            frame[first] = key
            try:
                found = test(frame)
            except EvaluationError as error:
                failed = failed or error
                continue
            if found is decisive:
                return not other
            if found is not other:
                failed = failed or no_such_overload()
        if failed is not None:
            raise failed
        return other

    return decide


def _exists_one(_: Comprehension, turns: Turns, exprs: Sequence[Evaluate]) -> Evaluate:
    (test,) = exprs
    return lambda frame: sum(1 for _ in turns(frame) if _tested(frame, test)) == 1


def _filter(node: Comprehension, turns: Turns, exprs: Sequence[Evaluate]) -> Evaluate:
    (test,), slot = exprs, node.slots[0]
    return lambda frame: [frame[slot] for _ in turns(frame) if _tested(frame, test)]


def _transform_list(_: Comprehension, turns: Turns, exprs: Sequence[Evaluate]) -> Evaluate:
    *tests, result = exprs
    return lambda frame: [result(frame) for _ in turns(frame) if all(_tested(frame, test) for test in tests)]


def _transform_map(_: Comprehension, turns: Turns, exprs: Sequence[Evaluate]) -> Evaluate:
    *tests, result = exprs
    return lambda frame: {
        key: result(frame) for key in turns(frame) if all(_tested(frame, test) for test in tests)
    }


def _transform_entries(_: Comprehension, turns: Turns, exprs: Sequence[Evaluate]) -> Evaluate:
    *tests, result = exprs

    def build(frame: Frame) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for _ in turns(frame):
            if all(_tested(frame, test) for test in tests):
                entries = result(frame)
                if not isinstance(entries, dict):
                    raise no_such_overload()
                for key, value in entries.items():
                    if key in found:
                        raise EvaluationError(f"insert failed: key {key} already exists")
                    found[key] = value
        return found

    return build


def _sort_by(node: Comprehension, turns: Turns, exprs: Sequence[Evaluate]) -> Evaluate:
    (key,), slot = exprs, node.slots[0]

    def build(frame: Frame) -> list[Any]:
        items, keys = [], []
        for _ in turns(frame):
            items.append(frame[slot])
            keys.append(key(frame))
        return sorted_by(items, keys)

    return build


_KINDS: Mapping[str, Callable[[Comprehension, Turns, Sequence[Evaluate]], Evaluate]] = {
    "exists_one": _exists_one,
    "filter": _filter,
    "transformList": _transform_list,
    "transformMap": _transform_map,
    "transformMapEntry": _transform_entries,
    "sortBy": _sort_by,
}


def optional_map(node: OptionalMap, source: Evaluate, expr: Evaluate) -> Evaluate:
    """optMap and optFlatMap: the expression of the value, if there is one."""
    slot, flat = node.slot, node.flat

    def build(frame: Frame) -> Optional:
        value = source(frame)
        if not isinstance(value, Optional):
            raise no_such_overload()
        if not value.present:
            return NONE
        frame[slot] = value.value
        result = expr(frame)
        if not flat:
            return Optional(result)
        if not isinstance(result, Optional):
            raise no_such_overload()
        return result

    return build
