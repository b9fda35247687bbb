"""The fields that an applied configuration claims."""

from typing import Any

from kinepy_server.apply.elements import Repeated, elements, is_leaf
from kinepy_server.apply.field_set import SELF, FieldSet, with_self
from kinepy_server.schema.types import Kind, Type


def fields_of(kind: Type, value: Any, *, atomic: bool = False) -> FieldSet | None:
    """The fields that a value sets, or None.

    Scalars and atomic values are fields. Elements of lists and entries of maps are fields whatever they hold,
    members of objects only when they are null or hold nothing.
    """
    if atomic or is_leaf(kind) or type(value) is Repeated:
        return {}
    if isinstance(value, dict):
        return _fields_of_members(kind, value)
    if isinstance(value, list):
        if kind.kind is not Kind.LIST:
            return {}
        assert kind.items is not None
        items = kind.items
        found = {
            element: with_self(fields_of(items, member)) for element, member in elements(kind, value).items()
        }
        return found or None
    return None if value is None or kind.kind is not Kind.ANY else {}


def _fields_of_members(kind: Type, value: dict[str, Any]) -> FieldSet | None:
    found: FieldSet = {}
    for name, member in value.items():
        prop = kind.properties.get(name)
        if prop is not None:
            fields = fields_of(prop.type, member, atomic=prop.map_type == "atomic")
        else:
            fields = fields_of(kind.items or kind, member)
        if prop is None or member is None or member == {}:
            fields = with_self(fields)
        if fields is not None:
            found[f"f:{name}"] = fields
    return found or None


def reconciled(kind: Type | None, fields: FieldSet) -> FieldSet:
    """A set from a time when a type may have been another: what is atomic now is owned as a whole."""
    if not fields or kind is None:
        return fields
    if is_leaf(kind):
        return {}
    return {element: reconciled(below(kind, element), node) for element, node in fields.items()}


def below(kind: Type, element: str) -> Type | None:
    """The type of what stands at a path element; None when the type knows no such place."""
    if element == SELF:
        return None
    if kind.kind is Kind.OBJECT:
        prop = kind.properties.get(element[2:])
        return prop.type if prop is not None else None
    return kind if kind.kind is Kind.ANY else kind.items
