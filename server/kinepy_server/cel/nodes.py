"""The parts of a parsed expression. The checker notes the type of each part in it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from kinepy_server.cel.types import DYN, Type


@dataclass(slots=True, eq=False)
class _Part:
    offset: int
    type: Type = field(default=DYN, init=False)


@dataclass(slots=True, eq=False)
class Const(_Part):
    """A literal: null, bool, int, UInt, float, str or bytes."""

    value: Any


@dataclass(slots=True, eq=False)
class Ident(_Part):
    """The name of a variable or type. `slot` is where its value stands; -1 for the name of a type."""

    name: str
    slot: int = field(default=-1, init=False)


@dataclass(slots=True, eq=False)
class Select(_Part):
    """`operand.name`; `test` for has(), `optional` for `.?`. `key` is the member's name in the data."""

    operand: "Node"
    name: str
    test: bool = False
    optional: bool = False
    key: str = field(default="", init=False)


@dataclass(slots=True, eq=False)
class Call(_Part):
    """A function or operator with its operands; `target` is what a method is called on."""

    name: str
    target: "Node | None"
    args: "Sequence[Node]"
    overloads: Sequence[Any] = field(default=(), init=False)


@dataclass(slots=True, eq=False)
class ListLiteral(_Part):
    """`[a, ?b]`: items, each with whether it is there only if the optional value is."""

    items: "Sequence[tuple[Node, bool]]"


@dataclass(slots=True, eq=False)
class MapLiteral(_Part):
    """`{a: b, ?c: d}`."""

    entries: "Sequence[tuple[Node, Node, bool]]"


@dataclass(slots=True, eq=False)
class ObjectLiteral(_Part):
    """`Name{field: a, ?field: b}`: name of the type; fields, each with its offset and whether it is there only if
    the optional value is."""

    name: str
    fields: "Sequence[tuple[int, str, Node, bool]]"


@dataclass(slots=True, eq=False)
class Comprehension(_Part):
    """A macro over the elements of a list or map: `kind` is the macro, `names` its variables."""

    kind: str
    source: "Node"
    names: Sequence[str]
    exprs: "Sequence[Node]"
    slots: Sequence[int] = field(default=(), init=False)


@dataclass(slots=True, eq=False)
class OptionalMap(_Part):
    """`optMap` and (`flat`) `optFlatMap`."""

    source: "Node"
    name: str
    expr: "Node"
    flat: bool
    slot: int = field(default=-1, init=False)


Node: TypeAlias = (
    Const | Ident | Select | Call | ListLiteral | MapLiteral | ObjectLiteral | Comprehension | OptionalMap
)


def below(node: Node) -> Iterator[Node]:
    """The parts that a part is made of."""
    match node:
        case Select():
            yield node.operand
        case Call():
            yield from node.args if node.target is None else (node.target, *node.args)
        case ListLiteral():
            yield from (item for item, _ in node.items)
        case MapLiteral():
            for key, value, _ in node.entries:
                yield from (key, value)
        case ObjectLiteral():
            yield from (value for _, _, value, _ in node.fields)
        case Comprehension():
            yield from (node.source, *node.exprs)
        case OptionalMap():
            yield from (node.source, node.expr)
