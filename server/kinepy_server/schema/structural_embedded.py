"""The metadata of embedded resources is that of typed objects (CRD-11)."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from kinepy_server.schema.structural_prune import EMBEDDED

Schema: TypeAlias = Mapping[str, Any]
Coerce: TypeAlias = Callable[[Any, Any, list[str]], Any]
"""Metadata, its path and the list of problems to metadata."""
Visitor: TypeAlias = Callable[[Any, Any, list[str]], None]


def embedded_visitor(schema: Schema, coerce: Coerce) -> Visitor | None:
    """What coerces the metadata of all embedded resources in a value; None when there are none."""
    properties: Mapping[str, Schema] = schema.get("properties") or {}
    children = {n: v for n, p in properties.items() if (v := embedded_visitor(p, coerce)) is not None}
    additional, items = schema.get("additionalProperties"), schema.get("items")
    rest = embedded_visitor(additional, coerce) if isinstance(additional, Mapping) else None
    element = embedded_visitor(items, coerce) if isinstance(items, Mapping) else None
    embedded = bool(schema.get(EMBEDDED))
    if not embedded and not children and rest is None and element is None:
        return None

    def visit(value: Any, path: Any, problems: list[str]) -> None:
        if type(value) is dict:
            if embedded and type(value.get("metadata")) is dict:
                value["metadata"] = coerce(value["metadata"], (path, "metadata"), problems)
            for name, member in value.items():
                child = children.get(name) or (rest if name not in properties else None)
                if child is not None:
                    child(member, (path, name), problems)
        elif type(value) is list and element is not None:
            for index, member in enumerate(value):
                element(member, (path, index), problems)

    return visit
