"""managedFields of plain writes: who wrote which fields last (SSA-5, SSA-8). Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from kinepy_server.apply.compare import Comparison, compare
from kinepy_server.apply.field_set import FieldSet, difference, is_field_set, union
from kinepy_server.resources.resource import JsonObject
from kinepy_server.schema.decode import decode
from kinepy_server.schema.types import type_named

MANAGER_BYTES_MAX = 128
UPDATE_MANAGERS_MAX = 10
OLD_UPDATES_MANAGER = "ancient-changes"
_OPERATIONS = ("Apply", "Update")

Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes: the manager's name, through which version and subresource, and when (RFC 3339)."""

    manager: str
    api_version: str
    subresource: str
    now: str


@lru_cache(maxsize=1024)
def manager_of(field_manager: str, user_agent: str) -> str:
    """The manager of a write: the given one, else what the user agent says before its first slash."""
    if field_manager:
        return field_manager
    prefix = user_agent.partition("/")[0]
    kept, size = [], 0
    for character in prefix:
        if character.isprintable():
            size += len(character.encode())
            if size > MANAGER_BYTES_MAX:
                break
            kept.append(character)
    return "".join(kept) or "unknown"


def track_update(schema: str, new: JsonObject, old: JsonObject | None, *, writer: Writer) -> None:
    """Set the managedFields of `new`, which a writer made of `old` (None on create).

    What the writer changed becomes its own and stops being others'; what it removed is nobody's. A client
    may hand in entries of its own; an empty list (or one empty entry) makes the history start anew.
    """
    metadata = new["metadata"]
    given = metadata.get("managedFields")
    entries = _live_or_given(given, old, subresource=writer.subresource)
    changes = compare(type_named(schema), zero(schema) if old is None else old, new)
    if changes.written or changes.removed:
        if entries:
            entries = _take_away(entries, changes)
        if changes.written:
            entries = _cap(_add(entries, changes.written, writer))
    if len(entries) > 1:
        entries.sort(key=_order)
    if entries:
        metadata["managedFields"] = entries
    else:
        metadata.pop("managedFields", None)


@cache
def zero(schema: str) -> JsonObject:
    """What an object holds before anything was written into it."""
    value: JsonObject = decode(schema, {})[0]
    return value


def _is_reset(given: Sequence[Entry]) -> bool:
    return not given or (len(given) == 1 and not given[0])


def _live_or_given(given: Any, old: JsonObject | None, *, subresource: str) -> list[Entry]:
    live: list[Entry] = (old["metadata"].get("managedFields") or []) if old else []
    if subresource or given is None:
        return list(live)
    if _is_reset(given):
        return []
    return list(given) if all(_usable(entry) for entry in given) else list(live)


def _usable(entry: Entry) -> bool:
    return (
        entry.get("operation") in _OPERATIONS
        and entry.get("fieldsType") == "FieldsV1"
        and is_field_set(entry.get("fieldsV1"))
    )


def _take_away(entries: list[Entry], changes: Comparison) -> list[Entry]:
    written, removed = changes.written, changes.removed
    kept = []
    for entry in entries:
        fields: FieldSet | None = entry["fieldsV1"]
        rest = fields
        if written:
            rest = difference(rest, written)
        if removed:
            rest = difference(rest, removed)
        if rest is fields or rest == fields:
            kept.append(entry)
        elif rest is not None:
            kept.append({**entry, "fieldsV1": rest})
    return kept


def _add(entries: list[Entry], written: FieldSet, writer: Writer) -> list[Entry]:
    own: Entry = {
        "manager": writer.manager,
        "operation": "Update",
        "apiVersion": writer.api_version,
        "time": writer.now,
        "fieldsType": "FieldsV1",
        "fieldsV1": written,
    }
    if writer.subresource:
        own["subresource"] = writer.subresource
    identity = _identity(own)
    others = []
    for entry in entries:
        if _identity(entry) == identity:
            own["fieldsV1"] = union(entry["fieldsV1"], own["fieldsV1"])
        else:
            others.append(entry)
    return [*others, own]


def _identity(entry: Entry) -> tuple[str, str, str, str]:
    return (
        entry.get("manager", ""),
        entry.get("operation", ""),
        entry.get("apiVersion", ""),
        entry.get("subresource", ""),
    )


def _order(entry: Entry) -> tuple[str, str, str, str, str]:
    manager, operation, api_version, subresource = _identity(entry)
    return operation, entry.get("time") or "", manager, api_version, subresource


def _cap(entries: list[Entry]) -> list[Entry]:
    """Merge the oldest Update entries of a version into one when there are too many."""
    updaters = [entry for entry in entries if entry.get("operation") == "Update"]
    excess = len(updaters) - UPDATE_MANAGERS_MAX
    if excess <= 0:
        return entries
    firsts: dict[str, Entry] = {}
    buckets: dict[str, Entry] = {}
    gone: list[Entry] = []
    for entry in sorted(updaters, key=_order):
        if excess <= 0:
            break
        version = entry.get("apiVersion", "")
        first = firsts.setdefault(version, entry)
        if first is entry:
            continue
        if version not in buckets:
            buckets[version] = _bucket(first)
            gone.append(first)
        bucket = buckets[version]
        bucket["fieldsV1"] = union(entry["fieldsV1"], bucket["fieldsV1"])
        bucket["time"] = entry.get("time")
        gone.append(entry)
        excess -= 1
    kept = [entry for entry in entries if not any(entry is one for one in gone)]
    return kept + list(buckets.values())


def _bucket(first: Entry) -> Entry:
    return {
        "manager": OLD_UPDATES_MANAGER,
        "operation": "Update",
        "apiVersion": first.get("apiVersion", ""),
        "time": first.get("time"),
        "fieldsType": "FieldsV1",
        "fieldsV1": first["fieldsV1"],
    }
