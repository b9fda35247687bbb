"""Sets of field paths in the form in which managedFields stores them (FieldsV1).

A set is a tree of path elements: `f:name` a member, `k:{...}` an element of a keyed list, `v:...` an element
of a set. A node without children is itself in the set; a node with children is when it has the child `.`.
The empty set is None. Nothing here changes its arguments, so that sets may share parts.
"""

from typing import Any, TypeAlias

FieldSet: TypeAlias = dict[str, "FieldSet"]

SELF = "."


def has_self(node: FieldSet) -> bool:
    """Whether the path of the node itself is in the set."""
    return not node or SELF in node


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
    if not rest:
        return None
    return {} if len(rest) == 1 and SELF in rest else rest


def is_field_set(value: Any) -> bool:
    """Whether a JSON value has the form of a set."""
    return isinstance(value, dict) and all(
        (element == SELF or element[:2] in _ELEMENTS) and is_field_set(below)
        for element, below in value.items()
    )


_ELEMENTS = frozenset(("f:", "k:", "v:", "i:"))
