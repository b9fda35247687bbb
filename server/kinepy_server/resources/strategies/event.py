"""Event: old-style rules for all, strict ones for events.k8s.io.

An event without `eventTime` is judged by the oldest rules only. Messages name the fields of the core type,
except the reporting controller, which each group calls its own way.
"""

from collections.abc import Iterator, Sequence

import orjson

from kinepy_server.resources.events import to_core
from kinepy_server.resources.resource import FieldError, JsonObject
from kinepy_server.resources.strategies.keys import invalid, quoted, required
from kinepy_server.resources.strategies.plain import PlainStrategy
from kinepy_server.resources.strategies.qualified import qualified_name_problems

TEXT_LENGTH_MAX, NOTE_LENGTH_MAX = 128, 1024
MISMATCH = "does not match event.namespace"
CONTROLLER = "reportingComponent"
REFERENCE_FIELDS = {
    "Kind": "kind", "Namespace": "namespace", "Name": "name", "UID": "uid", "APIVersion": "apiVersion",
    "ResourceVersion": "resourceVersion", "FieldPath": "fieldPath",
}  # fmt: skip
FIXED_TEXTS = ("reason", CONTROLLER, "reportingInstance", "action", "type")


class CoreEventStrategy(PlainStrategy):
    """Rules of core/v1 Events."""

    def validate_create(self, new: JsonObject) -> Sequence[FieldError]:
        """The old rules."""
        return list(_common_errors(new, controller=CONTROLLER))


class EventStrategy(PlainStrategy):
    """Rules of events.k8s.io/v1 Events."""

    def validate_create(self, new: JsonObject) -> Sequence[FieldError]:
        """The old rules, then the strict ones."""
        event = to_core(new)
        return [
            *_common_errors(event, controller="reportingController"),
            *_series_errors(event),
            *_strict_errors(event),
        ]

    def validate_update(self, new: JsonObject, old: JsonObject, *, subresource: str) -> Sequence[FieldError]:
        """What an event is about and who reported it never changes."""
        event, stored = to_core(new), to_core(old)
        errors = list(_common_errors(event, controller="reportingController"))
        if event.get("series") != stored.get("series"):
            errors += _series_errors(event)
        return errors + list(_immutable_errors(event, stored))


def _common_errors(event: JsonObject, *, controller: str) -> Iterator[FieldError]:
    namespace = event["metadata"].get("namespace", "")
    about = (event.get("involvedObject") or {}).get("namespace", "")
    if not event.get("eventTime"):
        if about != namespace and (about or namespace not in ("", "default")):
            yield invalid("involvedObject.namespace", quoted(about), MISMATCH)
        return
    if not about and namespace not in ("default", "kube-system"):
        yield invalid("involvedObject.namespace", quoted(about), MISMATCH)
    reporter = event.get(CONTROLLER) or ""
    if not reporter:
        yield required(controller)
    for problem in qualified_name_problems(reporter):
        yield invalid(controller, quoted(reporter), problem)
    for field in ("reportingInstance", "action", "reason"):
        text = event.get(field) or ""
        if not text:
            yield required(field)
        yield from _length_errors(field, text, TEXT_LENGTH_MAX)
    yield from _length_errors("message", event.get("message") or "", NOTE_LENGTH_MAX)


def _length_errors(field: str, text: str, most: int) -> Iterator[FieldError]:
    if len(text.encode()) > most:
        yield invalid(field, '""', f"can have at most {most} characters")


def _series_errors(event: JsonObject) -> Iterator[FieldError]:
    series = event.get("series")
    if series is not None:
        if series.get("count", 0) < 2:
            yield invalid("series.count", '""', "should be at least 2")
        if not series.get("lastObservedTime"):
            yield required("series.lastObservedTime")


def _strict_errors(event: JsonObject) -> Iterator[FieldError]:
    if not event.get("eventTime"):
        yield required("eventTime")
    kind = event.get("type", "")
    if kind not in ("Normal", "Warning"):
        yield invalid("type", '""', f"has invalid value: {kind}")
    for field in ("firstTimestamp", "lastTimestamp", "count", "source"):
        if event.get(field):
            yield invalid(field, '""', "needs to be unset")


def _immutable_errors(event: JsonObject, stored: JsonObject) -> Iterator[FieldError]:
    about = event.get("involvedObject") or {}
    if about != (stored.get("involvedObject") or {}):
        shown = orjson.dumps(
            {name: about.get(field, "") for name, field in REFERENCE_FIELDS.items()}
        ).decode()
        yield invalid("involvedObject", shown, "field is immutable")
    for field in FIXED_TEXTS:
        text = event.get(field) or ""
        if text != (stored.get(field) or ""):
            name = "reportingController" if field == CONTROLLER else field
            yield invalid(name, quoted(text), "field is immutable")
