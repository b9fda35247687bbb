"""The simple paths that definitions use for what is selectable and for Scales: `.spec.replicas` (CRD-20, CRD-24)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

_STEP = re.compile(r"'(?:[^'\\]|\\.)*'|[.\[\]]|[^.\[\]]+", re.DOTALL)


class BadPath(ValueError):
    """A text that is no path to a field."""


def field_at(text: str, schema: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """How causes write a path through members, and the schema that it leads to. Raises BadPath."""
    steps, shown = iter(_STEP.findall(text)), ""
    for step in steps:
        if step == "[":
            raise BadPath("array notation is not allowed")
        if step != ".":
            raise BadPath(f"expected [ or . but got: {step}")
        name = next(steps, None)
        if name is None:
            raise BadPath("unexpected end of JSON path")
        properties, additional = schema.get("properties"), schema.get("additionalProperties")
        if properties and name in properties:
            schema, shown = properties[name], f"{shown}.{name}"
        elif not properties and isinstance(additional, Mapping):
            schema, shown = additional, f"{shown}[{name}]"
        else:
            raise BadPath("does not refer to a valid field")
    return shown.removeprefix("."), schema


def names_of(text: str) -> Sequence[str]:
    """The members that a simple path goes through."""
    return text.lstrip(".").split(".")


def value_at(obj: Any, names: Sequence[str]) -> Any:
    """The value that nested members lead to; None when there is none."""
    for name in names:
        if not isinstance(obj, dict):
            return None
        obj = obj.get(name)
    return obj
