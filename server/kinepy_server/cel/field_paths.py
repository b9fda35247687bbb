"""The `fieldPath` of a rule: where below its own place its failure is reported."""

import re
from collections.abc import Mapping
from typing import Any

_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_-]*)|\['((?:[^'\\]|\\.)*)'\]", re.ASCII)
_ESCAPED = re.compile(r"\\(.)")


class BadPath(ValueError):
    """The text is no path to a field of the schema."""


def resolved_path(schema: Mapping[str, Any], text: str) -> str:
    """How causes write the path, such as `.spec.min` or `[key]`. Raises BadPath."""
    if not text.startswith((".", "[")):
        raise BadPath(f"expected [ or . but got: {text[:1]}" if text else "unexpected end of JSON path")
    position, shown = 0, []
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None:
            raise BadPath(f"unexpected end of JSON path: {text[position:]}")
        name = match[1] if match[1] is not None else _ESCAPED.sub(r"\1", match[2])
        schema, step = _entered(schema, name)
        shown.append(step)
        position = match.end()
    return "".join(shown)


def _entered(schema: Mapping[str, Any], name: str) -> tuple[Mapping[str, Any], str]:
    properties = schema.get("properties") or {}
    if name in properties:
        return properties[name], f".{name}"
    additional = schema.get("additionalProperties")
    if isinstance(additional, Mapping):
        return additional, f"[{name}]"
    raise BadPath("does not refer to a valid field")
