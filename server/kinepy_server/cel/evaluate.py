"""From the checked parts of an expression to closures that evaluate it.

A closure takes a frame: a list with what may still be spent in slot 0, and the variables after it. What an
expression surely costs is paid at its start, what depends on its data as it comes.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from kinepy_server.cel.errors import CostExceeded, EvaluationError, no_such_overload
from kinepy_server.cel.loops import comprehension, optional_map
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
from kinepy_server.cel.objects import maker
from kinepy_server.cel.operators import BINARY, has_key, index, negate, negation, type_of
from kinepy_server.cel.signatures import Overload
from kinepy_server.cel.static_cost import static_cost
from kinepy_server.cel.values import NONE, Optional, TypeValue, UInt

Frame: TypeAlias = list[Any]
Evaluate: TypeAlias = Callable[[Frame], Any]
_SIZED = (str, bytes, list, dict)
_CHARGED = frozenset(("_+_", "_==_", "_!=_", "@in"))
_UNARY: Mapping[str, Callable[[Any], Any]] = {"!_": negation, "-_": negate, "type": type_of}


def spend(frame: Frame, cost: float) -> None:
    """Take a cost from what may be spent; raises CostExceeded."""
    frame[0] -= cost
    if frame[0] < 0:
        raise CostExceeded


def evaluator(node: Node) -> Evaluate:
    """The closure of a checked part."""
    return _BUILDERS[type(node)](node)


def _const(node: Const) -> Evaluate:
    value = node.value
    return lambda frame: value


def _ident(node: Ident) -> Evaluate:
    slot = node.slot
    if slot < 0:
        value = TypeValue(node.name)
        return lambda frame: value
    return lambda frame: frame[slot]


def _select(node: Select) -> Evaluate:
    operand, key = evaluator(node.operand), node.key
    if node.test:
        return _has(operand, key)
    holder = node.operand.type
    if node.optional or holder.name == "optional_type":
        return _optional_select(node, operand)
    adapt = node.type.adapt if holder.fields is not None else None

    def select(frame: Frame) -> Any:
        value = operand(frame)
        try:
            found = value[key]
        except KeyError:
            raise EvaluationError(f"no such key: {key}") from None
        except TypeError:
            if isinstance(value, Optional):
                return _chosen(value, key)
            raise no_such_overload() from None
        return found if adapt is None or found is None else adapt(found)

    return select


def _has(operand: Evaluate, key: str) -> Evaluate:
    def has(frame: Frame) -> bool:
        value = operand(frame)
        if isinstance(value, Optional):
            value = value.value if value.present else {}
        if not isinstance(value, dict):
            raise no_such_overload()
        return key in value

    return has


def _chosen(value: Any, key: Any) -> Optional:
    if isinstance(value, Optional):
        if not value.present:
            return NONE
        value = value.value
    if isinstance(value, dict):
        return Optional(value[key]) if has_key(value, key) else NONE
    if isinstance(value, list):
        return Optional(index(value, key)) if type(key) is int and 0 <= key < len(value) else NONE
    raise no_such_overload()


def _optional_select(node: Select, operand: Evaluate) -> Evaluate:
    key, adapt = node.key, node.type.params[0].adapt if node.type.params else None

    def select(frame: Frame) -> Optional:
        found = _chosen(operand(frame), key)
        if adapt is None or not found.present or found.value is None:
            return found
        return Optional(adapt(found.value))

    return select


def _call(node: Call) -> Evaluate:
    special = _SPECIAL.get(node.name)
    if special is not None:
        return special(node)
    args = [evaluator(arg) for arg in node.args]
    if node.name in _UNARY:
        unary, (only,) = _UNARY[node.name], args
        return lambda frame: unary(only(frame))
    if node.name in BINARY:
        return _binary(node.name, *args)
    if node.target is not None:
        args.insert(0, evaluator(node.target))
    nodes = [node.target, *node.args] if node.target is not None else node.args
    if len(node.overloads) == 1 and not any(part is not None and part.type.is_dynamic for part in nodes):
        return _direct(node.overloads[0], args)
    return _dispatched(node.overloads, args)


def _binary(name: str, left: Evaluate, right: Evaluate) -> Evaluate:
    operate = BINARY[name]
    if name not in _CHARGED:
        return lambda frame: operate(left(frame), right(frame))

    def charged(frame: Frame) -> Any:
        one, other = left(frame), right(frame)
        if isinstance(other, _SIZED) and len(other) > _FREE:
            size = len(one) if isinstance(one, _SIZED) else 0
            spend(frame, 0.1 * (min(size, len(other)) if name in ("_==_", "_!=_") else size + len(other)))
        return operate(one, other)

    return charged


_FREE = 10
"""Values up to this size cost nothing more than the operation itself."""


def _direct(overload: Overload, args: Sequence[Evaluate]) -> Evaluate:
    impl, cost = overload.impl, overload.cost
    if cost is None and len(args) == 1:
        (only,) = args
        return lambda frame: impl(only(frame))
    if cost is None:
        return lambda frame: impl(*[arg(frame) for arg in args])

    def charged(frame: Frame) -> Any:
        values = [arg(frame) for arg in args]
        spend(frame, cost([len(value) if isinstance(value, _SIZED) else 1 for value in values]))
        return impl(*values)

    return charged


def _dispatched(overloads: Sequence[Overload], args: Sequence[Evaluate]) -> Evaluate:
    def dispatch(frame: Frame) -> Any:
        values = [arg(frame) for arg in args]
        for overload in overloads:
            if overload.takes(values):
                if overload.cost is not None:
                    sizes = [len(value) if isinstance(value, _SIZED) else 1 for value in values]
                    spend(frame, overload.cost(sizes))
                return overload.impl(*values)
        raise no_such_overload()

    return dispatch


def _logical(node: Call, *, decisive: bool) -> Evaluate:
    """`&&` (decided by false) and `||` (by true): an error counts only when the other side does not decide."""
    left, right = (evaluator(arg) for arg in node.args)
    other_value = not decisive

    def decide(frame: Frame) -> Any:
        failed: EvaluationError | None = None
        try:
            one = left(frame)
            if one is decisive:
                return decisive
            if one is not other_value:
                failed = no_such_overload()
        except EvaluationError as error:
            failed = error
        other = right(frame)
        if other is decisive:
            return decisive
        if failed is not None:
            raise failed
        if other is not other_value:
            raise no_such_overload()
        return other_value

    return decide


def _conditional(node: Call) -> Evaluate:
    test, yes, no = (evaluator(arg) for arg in node.args)

    def choose(frame: Frame) -> Any:
        chosen = test(frame)
        if chosen is True:
            return yes(frame)
        if chosen is False:
            return no(frame)
        raise no_such_overload()

    return choose


def _index(node: Call) -> Evaluate:
    container, key = (evaluator(arg) for arg in node.args)

    def get(frame: Frame) -> Any:
        value = container(frame)
        if isinstance(value, Optional):
            return _chosen(value, key(frame))
        return index(value, key(frame))

    return get


def _optional_index(node: Call) -> Evaluate:
    container, key = (evaluator(arg) for arg in node.args)
    return lambda frame: _chosen(container(frame), key(frame))


def _list(node: ListLiteral) -> Evaluate:
    items = [(evaluator(item), optional) for item, optional in node.items]
    if not any(optional for _, optional in items):
        plain = [item for item, _ in items]
        return lambda frame: [item(frame) for item in plain]

    def build(frame: Frame) -> list[Any]:
        found = []
        for item, optional in items:
            value = item(frame)
            if not optional:
                found.append(value)
            elif _opened(value).present:
                found.append(value.value)
        return found

    return build


def _opened(value: Any) -> Optional:
    if not isinstance(value, Optional):
        raise no_such_overload()
    return value


_KEYS = frozenset((str, int, UInt, bool))
"""The types of the keys of maps."""


def _map(node: MapLiteral) -> Evaluate:
    entries = [(evaluator(key), evaluator(value), optional) for key, value, optional in node.entries]

    def build(frame: Frame) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key_of, value_of, optional in entries:
            key, value = key_of(frame), value_of(frame)
            if optional:
                if not _opened(value).present:
                    continue
                value = value.value
            if type(key) not in _KEYS:
                raise EvaluationError("unsupported key type")
            if has_key(found, key):
                raise EvaluationError(f"Failed with repeated key: {key}")
            found[key] = value
        return found

    return build


def _object(node: ObjectLiteral) -> Evaluate:
    fields = [(name, evaluator(value), optional) for _, name, value, optional in node.fields]
    make = maker(node.name)

    def build(frame: Frame) -> dict[str, Any]:
        found = {}
        for name, value_of, optional in fields:
            value = value_of(frame)
            if optional:
                if not _opened(value).present:
                    continue
                value = value.value
            found[name] = value
        return make(found)

    return build


def _loop(node: Comprehension) -> Evaluate:
    exprs = [evaluator(expr) for expr in node.exprs]
    cost = _TURN + sum(map(static_cost, node.exprs))
    return comprehension(node, evaluator(node.source), exprs, cost=cost)


_TURN = 4
"""What a turn of a loop costs besides its expressions."""

_SPECIAL: Mapping[str, Callable[[Call], Evaluate]] = {
    "_&&_": lambda node: _logical(node, decisive=False),
    "_||_": lambda node: _logical(node, decisive=True),
    "_?_:_": _conditional,
    "_[_]": _index,
    "_[?_]": _optional_index,
}
_BUILDERS: Mapping[type, Callable[[Any], Evaluate]] = {
    Const: _const,
    Ident: _ident,
    Select: _select,
    Call: _call,
    ListLiteral: _list,
    MapLiteral: _map,
    ObjectLiteral: _object,
    Comprehension: _loop,
    OptionalMap: lambda node: optional_map(node, evaluator(node.source), evaluator(node.expr)),
}
