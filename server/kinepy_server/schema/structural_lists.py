"""Repeated elements of lists that are sets or maps (CRD-11). Compiled: schemas without such lists cost nothing."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import orjson

from kinepy_server.resources.resource import FieldError
from kinepy_server.schema.structural_errors import shown

Schema: TypeAlias = Mapping[str, Any]
Finder: TypeAlias = Callable[[Any, str, list[FieldError]], None]
"""Looks for repeated elements in a value at a path."""


def repeat_finder(schema: Schema) -> Finder | None:
    """The finder of a schema; None when nothing in it may repeat."""
    inside = [finder for finder in (_of_members(schema), _of_elements(schema)) if finder is not None]
    if len(inside) < 2:
        return inside[0] if inside else None

    def find(value: Any, path: str, errors: list[FieldError]) -> None:
        for finder in inside:
            finder(value, path, errors)

    return find


def _of_members(schema: Schema) -> Finder | None:
    children = {
        name: child
        for name, inner in (schema.get("properties") or {}).items()
        if (child := repeat_finder(inner)) is not None
    }
    additional = schema.get("additionalProperties")
    rest = repeat_finder(additional) if isinstance(additional, Mapping) else None
    if not children and rest is None:
        return None

    def find(value: Any, path: str, errors: list[FieldError]) -> None:
        if type(value) is dict:
            for name in value if rest is not None else children.keys() & value.keys():
                finder = children.get(name, rest)
                if finder is not None:
                    finder(value[name], f"{path}.{name}" if path else name, errors)

    return find


def _of_elements(schema: Schema) -> Finder | None:
    items = schema.get("items")
    element = repeat_finder(items) if isinstance(items, Mapping) else None
    key = _key(schema)
    if element is None and key is None:
        return None

    def find(value: Any, path: str, errors: list[FieldError]) -> None:
        if type(value) is not list:
            return
        if key is not None:
            errors += _repeated(value, path, key)
        if element is not None:
            for index, member in enumerate(value):
                element(member, f"{path}[{index}]", errors)

    return find


def _key(schema: Schema) -> Callable[[Any], Any] | None:
    """What of an element must be unique; the key is None for elements that cannot be compared."""
    match schema.get("x-kubernetes-list-type"):
        case "set":
            return lambda element: element
        case "map":
            names: Sequence[str] = schema.get("x-kubernetes-list-map-keys") or ()
            return lambda element: (
                {name: element[name] for name in names if name in element} if type(element) is dict else None
            )
        case _:
            return None


def _repeated(value: list[Any], path: str, key: Callable[[Any], Any]) -> Iterator[FieldError]:
    seen: set[bytes] = set()
    told: set[bytes] = set()
    for index, element in enumerate(value):
        found = key(element)
        if found is None:
            continue
        mark = orjson.dumps(found, option=orjson.OPT_SORT_KEYS)
        if mark in seen and mark not in told:
            told.add(mark)
            text = f"Duplicate value: {shown(found)}"
            yield FieldError(f"{path}[{index}]", "FieldValueDuplicate", text)
        seen.add(mark)
