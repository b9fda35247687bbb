"""Sets of field paths in the form in which managedFields stores them (FieldsV1).

A set is a tree of path elements: `f:name` a member, `k:{...}` an element of a keyed list, `v:...` an element
of a set. A node without children is itself in the set; a node with children is when it has the child `.`.
The empty set is None. Nothing here changes its arguments, so that sets may share parts.
"""

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import orjson

FieldSet: TypeAlias = dict[str, "FieldSet"]

SELF = "."
_ELEMENTS = frozenset(("f:", "k:", "v:", "i:"))
_TEXTS_OF_VALUES = ("k:", "v:")


def has_self(node: FieldSet) -> bool:
    """Whether the path of the node itself is in the set."""
    return not node or SELF in node


def with_self(node: FieldSet | None) -> FieldSet:
    """The set with the path of the node itself in it."""
    return {SELF: {}, **node} if node else {}


def union(left: FieldSet | None, right: FieldSet | None) -> FieldSet | None:
    """The paths that are in one of two sets."""
    if left is None or right is None:
        return right if left is None else left
    if not left and not right:
        return left
    merged = dict(left)
    for element, below in right.items():
        mine = merged.get(element)
        merged[element] = below if mine is None else (union(mine, below) or {})
    if not left or not right:
        merged[SELF] = {}
    return merged


def union_of(sets: Iterable[FieldSet | None]) -> FieldSet | None:
    """The paths that are in one of the sets."""
    found: FieldSet | None = None
    for one in sets:
        found = union(found, one)
    return found


def difference(left: FieldSet | None, right: FieldSet | None) -> FieldSet | None:
    """The paths of `left` that are not in `right`."""
    if left is None or right is None:
        return left
    if not left:
        return None if has_self(right) else left
    rest: FieldSet = {}
    for element, below in left.items():
        if element == SELF:
            if not has_self(right):
                rest[SELF] = {}
            continue
        other = right.get(element)
        kept = below if other is None else difference(below, other)
        if kept is not None:
            rest[element] = kept
    return _settled(rest)


def intersection(left: FieldSet | None, right: FieldSet | None) -> FieldSet | None:
    """The paths that are in both sets."""
    if left is None or right is None:
        return None
    both: FieldSet = {}
    for element, below in left.items():
        other = right.get(element)
        shared = None if other is None else intersection(below, other)
        if shared is not None:
            both[element] = shared
    if has_self(left) and has_self(right):
        both[SELF] = {}
    return _settled(both)


def _settled(tree: FieldSet) -> FieldSet | None:
    if not tree:
        return None
    return {} if len(tree) == 1 and SELF in tree else tree


def paths(tree: FieldSet | None, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of a set: those that end at a place before those that go on, each in order."""
    below = sorted((element, node) for element, node in (tree or {}).items() if element != SELF)
    for element, node in below:
        if has_self(node):
            yield (*above, element)
    for element, node in below:
        if node:
            yield from paths(node, (*above, element))


def read_fields(value: Any) -> FieldSet:
    """A set as a client wrote it, keys and values of its elements in canonical form. Raises ValueError."""
    if not isinstance(value, dict):
        raise ValueError("not an object")
    read: FieldSet = {}
    for element, below in value.items():
        if element == SELF:
            read[SELF] = {}
        elif element[:2] in _ELEMENTS:
            read[_canonical(element)] = read_fields(below)
        else:
            raise ValueError(f"unknown path element {element!r}")
    return {} if len(read) == 1 and SELF in read else read


def _canonical(element: str) -> str:
    if not element.startswith(_TEXTS_OF_VALUES):
        return element
    value = orjson.loads(element[2:])
    return f"{element[:2]}{orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()}"
