"""From a type to the function that checks it.

A checker goes down only where there is something to check, in the order of the type's table; members that the
table does not name come after those that it names. It is made on first use.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

from kinepy_server.resources.checks.causes import Key, Path, required
from kinepy_server.resources.checks.entries import Check, Required
from kinepy_server.resources.checks.tables import CHECKS
from kinepy_server.resources.resource import FieldError, JsonObject
from kinepy_server.schema.types import Kind, Property, Type, type_named

Errors: TypeAlias = list[FieldError]
_META = "meta.v1.ObjectMeta"


def problems_of(schema: str, obj: JsonObject) -> Sequence[FieldError]:
    """What is wrong with an object of a schema, besides its metadata."""
    check = checker(schema)
    if check is None:
        return ()
    errors: Errors = []
    check(obj, None, errors)
    return errors


@cache
def checker(schema: str) -> Check | None:
    """What checks the objects of a schema; None when there is nothing to check."""
    return _object(type_named(schema)) if _has_checks(schema) else None


@cache
def _has_checks(schema: str) -> bool:
    seen: set[str] = set()
    open_names = [schema]
    while open_names:
        name = open_names.pop()
        if name in CHECKS:
            return True
        if name not in seen:
            seen.add(name)
            open_names += [_named(prop) for prop in type_named(name).properties.values()]
    return False


def _named(prop: Property) -> str:
    of = prop.type
    while of.items is not None:
        of = of.items
    return of.name if of.kind is Kind.OBJECT and of.name else "meta.v1.Time"


def _object(of: Type) -> Check:
    steps: list[Callable[[JsonObject, Path, Errors], None]] = []
    named: set[str] = set()
    for entry in CHECKS.get(of.name, ()):
        field, *checks = entry
        if not field:
            steps += checks
            continue
        assert field in of.properties, f"{of.name} has no field {field}"
        named.add(field)
        steps.append(_step(field, checks, _below(of.properties[field])))
    for field, prop in of.properties.items():
        below = _below(prop) if field not in named else None
        if below is not None:
            steps.append(_step(field, (), below))

    def check(obj: Any, path: Path, errors: Errors) -> None:
        for step in steps:
            step(obj, path, errors)

    return check


def _step(
    field: str, checks: Sequence[Any], below: Check | None
) -> Callable[[JsonObject, Path, Errors], None]:
    """What is done about one field: its own checks, then what is below."""
    needed = next((one for one in checks if isinstance(one, Required)), None)
    own = [one for one in checks if one is not needed] + ([below] if below is not None else [])

    def step(obj: JsonObject, path: Path, errors: Errors) -> None:
        value = obj.get(field)
        if needed is not None and (value is None or value == "" or value == []):
            errors.append(required((path, field), needed.detail))
        elif value is not None:
            here = (path, field)
            for one in own:
                one(value, here, errors)

    return step


def _below(prop: Property) -> Check | None:
    """The checker of a member, found on first use since types may contain themselves."""
    name = _named(prop)
    if name == _META or not _has_checks(name):
        return None
    return _inside(prop.type)


def _inside(of: Type) -> Check:
    if of.items is not None:
        return _elements(_inside(of.items), is_list=of.kind is Kind.LIST)
    found: list[Check] = []

    def check(value: Any, path: Path, errors: Errors) -> None:
        if not found:
            made = checker(of.name)
            assert made is not None, "only types with checks are gone into"
            found.append(made)
        found[0](value, path, errors)

    return check


def _elements(below: Check, *, is_list: bool) -> Check:
    if is_list:

        def check_list(value: Any, path: Path, errors: Errors) -> None:
            for index, member in enumerate(value):
                below(member, (path, index), errors)

        return check_list

    def check_map(value: Any, path: Path, errors: Errors) -> None:
        for key, member in value.items():
            below(member, (path, Key(key)), errors)

    return check_map
