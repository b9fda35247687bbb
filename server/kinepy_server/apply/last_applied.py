"""From `kubectl apply` on the client's side to server-side apply: the annotation with the last configuration.

Only the manager `kubectl` is helped: what the annotation says that it applied is no conflict for it, and the
annotation follows what it applies.
"""

from typing import Any

import orjson

from kinepy_server.apply.apply import Applied, apply
from kinepy_server.apply.compare import compare
from kinepy_server.apply.conflicts import ApplyConflict
from kinepy_server.apply.field_set import FieldSet, difference
from kinepy_server.apply.managed_fields import Writer
from kinepy_server.apply.owned import fields_of
from kinepy_server.apply.typed import NotTyped, check_typed

JsonObject = dict[str, Any]

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
MANAGER = "kubectl"
ANNOTATIONS_BYTES_MAX = 256 * 1024


def apply_as(
    live: JsonObject,
    config: JsonObject,
    *,
    writer: Writer,
    force: bool,
    ignored: frozenset[str] = frozenset(),
) -> Applied:
    """As `apply`, with what is special about kubectl."""
    if writer.manager != MANAGER:
        return apply(live, config, writer=writer, force=force, ignored=ignored)
    try:
        applied = apply(live, config, writer=writer, force=force, ignored=ignored)
    except ApplyConflict as conflict:
        rest = conflict.without(_still_as_applied(live, writer))
        if rest is not None:
            raise rest from None
        applied = apply(live, config, writer=writer, force=True, ignored=ignored)
    return _with_annotation(live, config, applied)


def _still_as_applied(live: JsonObject, writer: Writer) -> FieldSet | None:
    """The fields that the client applied last, and that still are what they were then."""
    versions = writer.versions
    try:
        last = orjson.loads(_annotations(live).get(ANNOTATION) or b"null")
        if not isinstance(last, dict) or last.get("apiVersion") != versions.api_version:
            return None
        check_typed(versions.type, last)
    except (orjson.JSONDecodeError, NotTyped):
        return None
    changed = compare(versions.type, {"metadata": {}, **last}, live)
    fields = difference(fields_of(versions.type, last), changed.written or None)
    return difference(fields, changed.removed or None)


def _with_annotation(live: JsonObject, config: JsonObject, applied: Applied) -> Applied:
    shown = live if applied.object is None else applied.object
    annotations = _annotations(shown)
    if not annotations.get(ANNOTATION):
        return applied
    annotations = {**annotations, ANNOTATION: _last_applied(config)}
    if (
        sum(len(name.encode()) + len(text.encode()) for name, text in annotations.items())
        > ANNOTATIONS_BYTES_MAX
    ):
        del annotations[ANNOTATION]
    metadata = {**shown["metadata"], "annotations": annotations}
    return Applied({**shown, "metadata": metadata}, applied.entries)


def _last_applied(config: JsonObject) -> str:
    metadata = dict(config.get("metadata") or {})
    if metadata.get("annotations"):
        annotations = {name: text for name, text in metadata["annotations"].items() if name != ANNOTATION}
        metadata["annotations"] = annotations
    text = orjson.dumps({**config, "metadata": metadata}, option=orjson.OPT_SORT_KEYS).decode() + "\n"
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _annotations(obj: JsonObject) -> dict[str, str]:
    return (obj.get("metadata") or {}).get("annotations") or {}
