"""From a type to the function that fills in its defaults.

A function goes down only where something is to be filled in, and is made on first use.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

from kinepy_server.resources.defaults.computed import COMPUTED
from kinepy_server.resources.defaults.values import VALUES
from kinepy_server.resources.resource import JsonObject
from kinepy_server.schema.types import Kind, Property, Type, type_named

Filler: TypeAlias = Callable[[Any], None]


@cache
def filler(schema: str) -> Filler | None:
    """What fills in the defaults of an object of a schema; None when there are none."""
    return _object(type_named(schema)) if _has_defaults(schema) else None


@cache
def _has_defaults(schema: str) -> bool:
    """Whether anything is filled in somewhere in an object of a schema."""
    seen: set[str] = set()
    open_names = [schema]
    while open_names:
        name = open_names.pop()
        if name in VALUES or name in COMPUTED:
            return True
        if name not in seen:
            seen.add(name)
            open_names += [_named(prop) for prop in type_named(name).properties.values()]
    return False


def _named(prop: Property) -> str:
    """The schema at the bottom of a property's lists and maps, which may be a special type."""
    of = prop.type
    while of.items is not None:
        of = of.items
    return of.name if of.kind is Kind.OBJECT and of.name else "meta.v1.Time"


def _object(of: Type) -> Filler:
    values = tuple(
        (name, value, of.properties[name].pointer) for name, value in VALUES.get(of.name, {}).items()
    )
    computed = COMPUTED.get(of.name)
    inner = tuple(
        (name, _below(prop.type)) for name, prop in of.properties.items() if _has_defaults(_named(prop))
    )

    def fill(obj: JsonObject) -> None:
        for name, value, pointer in values:
            # What is no pointer cannot tell its zero value from nothing.
            given = obj.get(name)
            if given is None or not (pointer or given):
                obj[name] = _fresh(value)
        if computed is not None:
            computed(obj)
        for name, below in inner:
            member = obj.get(name)
            if member is not None:
                below(member)

    return fill


def _below(of: Type) -> Filler:
    """The filler of a member: of an object type on first use, since types may contain themselves."""
    if of.items is not None:
        return _elements(_below(of.items), is_list=of.kind is Kind.LIST)
    found: list[Filler] = []

    def fill(value: Any) -> None:
        if not found:
            made = filler(of.name)
            assert made is not None, "only types with defaults are gone into"
            found.append(made)
        found[0](value)

    return fill


def _elements(below: Filler, *, is_list: bool) -> Filler:
    def fill(value: Any) -> None:
        members: Sequence[Any] = value if is_list else value.values()
        for member in members:
            below(member)

    return fill


def _fresh(value: Any) -> Any:
    """A copy that shares nothing that can change."""
    if type(value) is dict:
        return {name: _fresh(member) for name, member in value.items()}
    if type(value) is list:
        return [_fresh(member) for member in value]
    return value
