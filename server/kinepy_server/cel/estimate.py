"""What an expression may cost at most, from the greatest sizes that its types allow."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kinepy_server.cel.nodes import (
    Call,
    Comprehension,
    Const,
    Ident,
    ListLiteral,
    MapLiteral,
    Node,
    ObjectLiteral,
    OptionalMap,
    Select,
)
from kinepy_server.cel.static_cost import LIST_COST, MAP_COST, OBJECT_COST
from kinepy_server.cel.types import DYN, Type

_TURN = 3
"""What a turn of a loop costs besides its expression."""


class Size(NamedTuple):
    """How large a value may be, and where its type does not say it, its elements."""

    own: float
    inner: float = 1

    @classmethod
    def of(cls, kind: Type, unknown: float = 1) -> "Size":
        """From a type; `unknown` where it says nothing."""
        own = unknown if kind.size_max is None else kind.size_max
        element = kind.params[-1] if kind.params else DYN
        return cls(own, own if element.size_max is None else element.size_max)


class Estimate(NamedTuple):
    """The greatest cost of evaluating a part, and the size of its value."""

    cost: float
    size: Size


Sizes = Mapping[int, Size]


def estimated_cost(node: Node, sizes: Mapping[int, Type]) -> float:
    """The greatest cost of a checked expression; `sizes` are the types of the variables by slot."""
    return estimate(node, {slot: Size.of(kind) for slot, kind in sizes.items()}).cost


def estimate(node: Node, sizes: Sizes) -> Estimate:
    """The estimate of a part."""
    return _ESTIMATORS[type(node)](node, sizes)


def _const(node: Const, _: Sizes) -> Estimate:
    return Estimate(0, Size(len(node.value) if isinstance(node.value, (str, bytes)) else 1))


def _ident(node: Ident, sizes: Sizes) -> Estimate:
    return Estimate(1, sizes.get(node.slot, Size(1)))


def _select(node: Select, sizes: Sizes) -> Estimate:
    cost, size = estimate(node.operand, sizes)
    kind = node.type.params[0] if node.type.name == "optional_type" and node.type.params else node.type
    return Estimate(cost + 1, Size(1) if node.test else Size.of(kind, size.inner))


def _call(node: Call, sizes: Sizes) -> Estimate:
    parts = [estimate(part, sizes) for part in (*([node.target] if node.target else []), *node.args)]
    if node.name == "_?_:_":
        test, yes, no = parts
        larger = yes if yes.size.own >= no.size.own else no
        return Estimate(1 + test.cost + max(yes.cost, no.cost), larger.size)
    own = [part.size.own for part in parts]
    cost = sum(part.cost for part in parts) + _own_cost(node, own)
    return Estimate(cost, _result(node, parts))


def _own_cost(node: Call, own: list[float]) -> float:
    if node.name in ("_==_", "_!=_"):
        return max(1, math.ceil(min(own) * 0.1))
    if node.name == "_+_":
        return max(1, math.ceil(sum(own) * 0.1)) if max(own) > 1 else 1
    if node.name in ("_<_", "_<=_", "_>_", "_>=_"):
        return max(1, math.ceil(min(own) * 0.1))
    if node.name == "@in":
        return max(1, own[1] if node.args[1].type.name == "list" else 1)
    costs = [overload.cost(own) for overload in node.overloads if overload.cost is not None]
    return max(costs, default=1)


def _result(node: Call, parts: list[Estimate]) -> Size:
    if node.name == "_+_":
        return Size(sum(part.size.own for part in parts), max(part.size.inner for part in parts))
    if node.name in ("_[_]", "_[?_]"):
        return Size.of(node.type, parts[0].size.inner)
    if node.type.name in ("string", "bytes", "list", "map", "dyn", "optional_type") and parts:
        largest = max(part.size.own for part in parts)
        return Size(largest, max(largest, *(part.size.inner for part in parts)))
    return Size(1)


def _list(node: ListLiteral, sizes: Sizes) -> Estimate:
    parts = [estimate(item, sizes) for item, _ in node.items]
    inner = max((part.size.own for part in parts), default=1)
    return Estimate(LIST_COST + sum(part.cost for part in parts), Size(len(parts), inner))


def _map(node: MapLiteral, sizes: Sizes) -> Estimate:
    keys = [estimate(key, sizes) for key, _, _ in node.entries]
    values = [estimate(value, sizes) for _, value, _ in node.entries]
    inner = max((part.size.own for part in values), default=1)
    return Estimate(MAP_COST + sum(part.cost for part in (*keys, *values)), Size(len(keys), inner))


def _object(node: ObjectLiteral, sizes: Sizes) -> Estimate:
    parts = [estimate(value, sizes) for _, _, value, _ in node.fields]
    inner = max((part.size.own for part in parts), default=1)
    return Estimate(OBJECT_COST + sum(part.cost for part in parts), Size(len(parts), inner))


def _comprehension(node: Comprehension, sizes: Sizes) -> Estimate:
    source = estimate(node.source, sizes)
    kind = node.source.type
    element = kind.params[-1] if kind.params else DYN
    variables = dict(zip(node.slots, map(Size.of, kind.params), strict=False))
    variables[node.slots[-1]] = Size.of(
        kind.params[0] if len(node.slots) == 1 and kind.params else element, source.size.inner
    )
    inner = {**sizes, **variables}
    exprs = [estimate(expr, inner) for expr in node.exprs]
    turn = _TURN + sum(expr.cost for expr in exprs)
    builds = node.kind in ("filter", "transformList", "transformMap", "transformMapEntry", "sortBy")
    cost = source.cost + source.size.own * (turn + (LIST_COST if builds else 0)) + 1
    result = source.size if node.kind in ("filter", "sortBy") else Size(source.size.own, exprs[-1].size.own)
    return Estimate(cost, result if builds else Size(1))


def _optional_map(node: OptionalMap, sizes: Sizes) -> Estimate:
    source = estimate(node.source, sizes)
    result = estimate(node.expr, {**sizes, node.slot: source.size})
    return Estimate(source.cost + result.cost + 2, result.size)


_ESTIMATORS: Mapping[type, Callable[[Any, Sizes], Estimate]] = {
    Const: _const,
    Ident: _ident,
    Select: _select,
    Call: _call,
    ListLiteral: _list,
    MapLiteral: _map,
    ObjectLiteral: _object,
    Comprehension: _comprehension,
    OptionalMap: _optional_map,
}
