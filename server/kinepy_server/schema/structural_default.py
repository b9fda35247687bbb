"""Defaulting by a structural schema (CRD-12): absent members, and nulls where null is not allowed, get their
default; such nulls without a default go."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import orjson

Schema: TypeAlias = Mapping[str, Any]
Filler: TypeAlias = Callable[[Any], None]
"""Changes a value in place."""


def filler(schema: Schema) -> Filler:
    """The filler of a schema. Every object may hold nulls that must go, so there is always one."""
    found = _filler(schema)
    return found if found is not None else _nothing


def _nothing(value: Any) -> None:
    """No compound value is described."""


def _filler(schema: Schema) -> Filler | None:
    members, items = _of_members(schema), schema.get("items")
    if not isinstance(items, Mapping):
        return members
    element = _elements(items)

    def fill(value: Any) -> None:
        if type(value) is list:
            element(value)
        elif members is not None:
            members(value)

    return fill


def _of_members(schema: Schema) -> Filler | None:
    properties: Mapping[str, Schema] = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    rest = _members(additional) if isinstance(additional, Mapping) else None
    if not properties and rest is None:
        return None
    defaults = {name: _copier(p["default"]) for name, p in properties.items() if has_default(p)}
    children = [(name, child) for name, p in properties.items() if (child := _filler(p)) is not None]
    unnullable = frozenset(name for name, p in properties.items() if not p.get("nullable"))

    def fill(value: Any) -> None:
        if type(value) is not dict:
            return
        for name, copy in defaults.items():
            if name not in value:
                value[name] = copy()
        if None in value.values():
            _settle_nulls(value, unnullable, defaults)
        for name, child in children:
            member = value.get(name)
            if member is not None:
                child(member)
        if rest is not None:
            rest(value, properties)

    return fill


def has_default(schema: Schema) -> bool:
    """Whether a schema says what an absent value becomes."""
    return schema.get("default") is not None


def _copier(default: Any) -> Callable[[], Any]:
    if not isinstance(default, dict | list):
        return lambda: default
    encoded = orjson.dumps(default)
    return lambda: orjson.loads(encoded)


def _settle_nulls(
    value: dict[str, Any], unnullable: frozenset[str], defaults: Mapping[str, Callable[[], Any]]
) -> None:
    for name in [name for name, member in value.items() if member is None]:
        if name in defaults and name in unnullable:
            value[name] = defaults[name]()
        elif name in unnullable:
            del value[name]


def _members(schema: Schema) -> Callable[[dict[str, Any], Mapping[str, Schema]], None]:
    """Fills the members that additionalProperties describes."""
    fill, nullable = _filler(schema), bool(schema.get("nullable"))
    copy = _copier(schema["default"]) if has_default(schema) else None

    def members(value: dict[str, Any], properties: Mapping[str, Schema]) -> None:
        if not nullable and None in value.values():
            for name in [name for name, member in value.items() if member is None and name not in properties]:
                if copy is not None:
                    value[name] = copy()
                else:
                    del value[name]
        if fill is not None:
            for name, member in value.items():
                if name not in properties:
                    fill(member)

    return members


def _elements(schema: Schema) -> Callable[[list[Any]], None]:
    fill, nullable = _filler(schema), bool(schema.get("nullable"))
    copy = _copier(schema["default"]) if has_default(schema) else None

    def elements(value: list[Any]) -> None:
        for index, member in enumerate(value):
            if member is None and not nullable and copy is not None:
                value[index] = member = copy()
            if fill is not None:
                fill(member)

    return elements


def any_defaults(schema: Schema) -> bool:
    """Whether anything in a schema has a default."""
    inner = [
        *(schema.get("properties") or {}).values(),
        schema.get("items"),
        schema.get("additionalProperties"),
    ]
    return any(has_default(s) or any_defaults(s) for s in inner if isinstance(s, Mapping))
