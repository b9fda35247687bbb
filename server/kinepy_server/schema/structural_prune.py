"""Pruning: what a structural schema does not name is dropped (CRD-11).

Compiled to closures that step into the members of compound types alone; a subtree in which nothing can be
dropped has none.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Schema: TypeAlias = Mapping[str, Any]
Dropped: TypeAlias = list[str] | None
"""Collects the paths of what is dropped, in no order; None when nobody asks."""
Pruner: TypeAlias = Callable[[Any, str, Dropped], None]
"""Changes a value in place; the text is its path."""

_HEAD = frozenset(("apiVersion", "kind", "metadata"))
PRESERVES = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"


def pruner(schema: Schema, *, root: bool = False) -> Pruner | None:
    """The pruner of a schema; None when it never drops anything."""
    if schema.get("type") in _SCALARS:
        # An object in such a place is refused.
        return None
    members = _of_members(schema, root=root) if schema.get("type") != "array" else None
    items = schema.get("items")
    element = pruner(items) if isinstance(items, Mapping) else None
    if element is None:
        return members

    def prune(value: Any, path: str, dropped: Dropped) -> None:
        if type(value) is list:
            for index, member in enumerate(value):
                element(member, f"{path}[{index}]" if dropped is not None else "", dropped)
        elif members is not None:
            members(value, path, dropped)

    return prune


def _of_members(schema: Schema, *, root: bool) -> Pruner | None:
    known: Mapping[str, Schema] = schema.get("properties") or {}
    skipped = _HEAD if root or schema.get(EMBEDDED) else frozenset()
    names = frozenset(known) | skipped
    children = {
        name: child
        for name, inner in known.items()
        if name not in skipped and (child := pruner(inner)) is not None
    }
    additional = schema.get("additionalProperties")
    rest = (
        pruner(additional) if isinstance(additional, Mapping) else _prune_everything if additional else None
    )
    open_ended = bool(schema.get(PRESERVES)) or bool(additional)
    if open_ended and not children and rest is None:
        return None

    def prune(value: Any, path: str, dropped: Dropped) -> None:
        if type(value) is not dict:
            return
        if not open_ended and not value.keys() <= names:
            _drop(value, names, path=path, dropped=dropped)
        for name, child in children.items():
            if name in value:
                child(value[name], f"{path}.{name}" if dropped is not None else "", dropped)
        if rest is not None:
            for name in value.keys() - names:
                rest(value[name], f"{path}.{name}", dropped)

    return prune


_SCALARS = frozenset(("string", "integer", "number", "boolean"))


def _drop(value: dict[str, Any], names: frozenset[str], *, path: str, dropped: Dropped) -> None:
    for name in [name for name in value if name not in names]:
        del value[name]
        if dropped is not None:
            dropped.append(f"{path}.{name}")


def _prune_everything(value: Any, path: str, dropped: Dropped) -> None:
    if type(value) is dict:
        _drop(value, frozenset(), path=path, dropped=dropped)
    elif type(value) is list:
        for index, member in enumerate(value):
            _prune_everything(member, f"{path}[{index}]", dropped)
