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
    known = dict(schema.get("properties") or {})
    keeps_head = root or bool(schema.get(EMBEDDED))
    names = frozenset(known) | (_HEAD if keeps_head else frozenset())
    skipped = _HEAD if keeps_head else frozenset()
    children = {
        name: child
        for name, inner in known.items()
        if name not in skipped and (child := pruner(inner)) is not None
    }
    additional = schema.get("additionalProperties")
    rest = (
        pruner(additional) if isinstance(additional, Mapping) else _prune_everything if additional else None
    )
    items = schema.get("items")
    element = pruner(items) if isinstance(items, Mapping) else None
    open_ended = bool(schema.get(PRESERVES)) or bool(additional)
    if open_ended and not children and rest is None and element is None:
        return None
    if schema.get("type") in _SCALARS:
        # An object in such a place is refused.
        return None

    def prune(value: Any, path: str, dropped: Dropped) -> None:
        if type(value) is dict:
            if not open_ended and not value.keys() <= names:
                _drop(value, names, path, dropped)
            for name, child in children.items():
                if name in value:
                    child(value[name], f"{path}.{name}" if dropped is not None else "", dropped)
            if rest is not None:
                for name, member in value.items():
                    if name not in known:
                        rest(member, f"{path}.{name}", dropped)
        elif type(value) is list and element is not None:
            for index, member in enumerate(value):
                element(member, f"{path}[{index}]" if dropped is not None else "", dropped)

    return prune


_SCALARS = frozenset(("string", "integer", "number", "boolean"))


def _drop(value: dict[str, Any], names: frozenset[str], path: str, dropped: Dropped) -> None:
    for name in [name for name in value if name not in names]:
        del value[name]
        if dropped is not None:
            dropped.append(f"{path}.{name}")


def _prune_everything(value: Any, path: str, dropped: Dropped) -> None:
    if type(value) is dict:
        _drop(value, frozenset(), path, dropped)
    elif type(value) is list:
        for index, member in enumerate(value):
            _prune_everything(member, f"{path}[{index}]", dropped)
