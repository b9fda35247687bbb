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


def flag_at(path: str) -> Reader:
    """A reader of a boolean: `true` or `false`, which it is when absent."""
    read = value_at(path)
    return lambda obj: "true" if read(obj) else "false"


def number_at(path: str) -> Reader:
    """A reader of a whole number, 0 when it is absent."""
    read = value_at(path)
    return lambda obj: str(read(obj) or 0)


def value_at(path: str) -> Callable[[JsonObject], Any]:
    """A reader of whatever is at a dotted path, None when it is absent."""
    *parents, last = path.split(".")

    def read(obj: JsonObject) -> Any:
        inner: Any = obj
        for name in parents:
            inner = inner.get(name) or {}
        return inner.get(last)

    return read


def pod_address(obj: JsonObject) -> str:
    """`status.podIP`: the first of the pod's addresses."""
    addresses = (obj.get("status") or {}).get("podIPs") or ()
    address: str = addresses[0].get("ip", "") if addresses else ""
    return address


SPECIAL: Mapping[tuple[str, str], Reader] = {
    ("batch/v1/jobs", "status.successful"): number_at("status.succeeded"),
    ("v1/events", "source"): event_source,
    ("v1/nodes", "spec.unschedulable"): flag_at("spec.unschedulable"),
    ("v1/pods", "spec.hostNetwork"): flag_at("spec.hostNetwork"),
    ("v1/pods", "status.podIP"): pod_address,
    ("v1/pods", "status.podIPs"): lambda obj: "",
    ("v1/replicationcontrollers", "status.replicas"): number_at("status.replicas"),
}
"""Labels whose text is not simply the field of that name."""


def field_labels(key: str, accepted: Sequence[str]) -> Mapping[str, Reader]:
    """Readers of a resource's selectable fields beyond name and namespace."""
    return {label: SPECIAL.get((key, label)) or text_at(label) for label in accepted if label not in COMMON}
