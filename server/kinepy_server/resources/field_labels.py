"""Selectable fields: how the text that a field selector compares is read from an object."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kinepy_server.resources.resource import JsonObject

Reader = Callable[[JsonObject], str]
COMMON = ("metadata.name", "metadata.namespace")


def text_at(path: str) -> Reader:
    """A reader of the string at a dotted path, empty when it is absent."""
    *parents, last = path.split(".")

    def read(obj: JsonObject) -> str:
        inner: Any = obj
        for name in parents:
            inner = inner.get(name) or {}
        value = inner.get(last)
        return value if isinstance(value, str) else ""

    return read


def event_source(obj: JsonObject) -> str:
    """`source` of a core Event: its component, else the reporting component."""
    component = (obj.get("source") or {}).get("component")
    return component or obj.get("reportingComponent") or ""


SPECIAL: Mapping[tuple[str, str], Reader] = {("v1/events", "source"): event_source}
"""Labels whose text is not simply the field of that name."""


def field_labels(key: str, accepted: Sequence[str]) -> Mapping[str, Reader]:
    """Readers of a resource's selectable fields beyond name and namespace."""
    return {label: SPECIAL.get((key, label)) or text_at(label) for label in accepted if label not in COMMON}
