"""The cells of the smallest types, and of events."""

from collections.abc import Sequence
from typing import Any

from kinepy_server.resources.durations import since
from kinepy_server.resources.events import to_core
from kinepy_server.resources.resource import JsonObject


def _name(obj: JsonObject) -> str:
    name: str = obj["metadata"].get("name", "")
    return name


def _age(obj: JsonObject, now: float) -> str:
    return since(obj["metadata"].get("creationTimestamp"), now)


def name_and_age(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, Age."""
    return _name(obj), _age(obj, now)


def configmap(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, Data (number of keys), Age."""
    return _name(obj), len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), _age(obj, now)


def secret(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, Type, Data (number of keys), Age."""
    return _name(obj), obj.get("type", ""), len(obj.get("data") or ()), _age(obj, now)


def namespace(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, Status, Age."""
    return _name(obj), (obj.get("status") or {}).get("phase", ""), _age(obj, now)


def lease(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, Holder, Age."""
    return _name(obj), (obj.get("spec") or {}).get("holderIdentity", ""), _age(obj, now)


def core_event(obj: JsonObject, now: float) -> Sequence[Any]:
    """Last Seen, Type, Reason, Object, Subobject, Source, Message, First Seen, Count, Name."""
    first = since(obj.get("firstTimestamp") or obj.get("eventTime"), now)
    last = since(obj["lastTimestamp"], now) if obj.get("lastTimestamp") else first
    count = obj.get("count") or 1
    if series := obj.get("series"):
        last, count = since(series.get("lastObservedTime"), now), series.get("count", 0)
    about = obj.get("involvedObject") or {}
    kind, target = about.get("kind", "").lower(), about.get("name", "")
    subject = f"{kind}/{target}" if target else kind
    message = obj.get("message", "").strip()
    what = (obj.get("type", ""), obj.get("reason", ""), subject)
    return (last, *what, about.get("fieldPath", ""), _reporter(obj), message, first, count, _name(obj))


def event(obj: JsonObject, now: float) -> Sequence[Any]:
    """The same columns for an events.k8s.io Event."""
    return core_event(to_core(obj), now)


def _reporter(obj: JsonObject) -> str:
    source = obj.get("source") or {}
    component = source.get("component") or obj.get("reportingComponent") or ""
    host = source.get("host") or obj.get("reportingInstance") or ""
    return f"{component}, {host}" if host else component
