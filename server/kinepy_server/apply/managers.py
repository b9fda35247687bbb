"""Entries of managedFields (SSA-5): one for each manager, operation, version and subresource. Pure."""

from collections.abc import Sequence
from typing import Any

import orjson

from kinepy_server.apply.field_set import FieldSet, read_fields, union

UPDATE_MANAGERS_MAX = 10
OLD_UPDATES_MANAGER = "ancient-changes"
APPLY, UPDATE = "Apply", "Update"
FIELDS_TYPE = "FieldsV1"
_OPERATIONS = (APPLY, UPDATE)

Entry = dict[str, Any]
Identity = tuple[str, str, str, str]


def new_entry(
    manager: str, operation: str, fields: FieldSet, *, api_version: str, subresource: str, time: str | None
) -> Entry:
    """An entry; `time` may be missing: of an apply that changed nothing but who owns what."""
    entry: Entry = {
        "manager": manager,
        "operation": operation,
        "apiVersion": api_version,
        "fieldsType": FIELDS_TYPE,
        "fieldsV1": fields,
    }
    if time:
        entry["time"] = time
    if subresource:
        entry["subresource"] = subresource
    return entry


def identity(entry: Entry) -> Identity:
    """What tells an entry from others. An applier may change the version that it applies."""
    operation = entry.get("operation", "")
    version = "" if operation == APPLY else entry.get("apiVersion", "")
    return entry.get("manager", ""), operation, version, entry.get("subresource", "")


def identity_text(entry: Entry) -> str:
    """The identity as the original writes it; conflicts are told in the order of these texts."""
    manager, operation, version, subresource = identity(entry)
    parts = {"manager": manager, "operation": operation, "apiVersion": version, "subresource": subresource}
    return orjson.dumps({name: value for name, value in parts.items() if value}).decode()


def order(entry: Entry) -> tuple[str, str, str, str, str]:
    """How entries are ordered in an object."""
    get = entry.get
    return (
        get("operation", ""),
        get("time") or "",
        get("manager", ""),
        get("apiVersion", ""),
        get("subresource", ""),
    )


def in_order(entries: list[Entry]) -> list[Entry]:
    """The entries in order; the list may be changed."""
    if len(entries) > 1:
        entries.sort(key=order)
    return entries


def given_entries(given: Any, live: list[Entry], *, subresource: str) -> list[Entry]:
    """The entries that a write starts from. A client may hand in some, and an empty list (or one empty entry) makes
    it all start anew; entries that are none count as not given. Only the main endpoint takes them."""
    if given is None or subresource or given == live:
        return list(live)
    if not given or (len(given) == 1 and not given[0]):
        return []
    try:
        read = [_read_entry(entry) for entry in given]
    except ValueError:
        return list(live)
    return [entry for entry in read if entry["fieldsV1"]]


def entries_problem(entries: Sequence[Any]) -> str:
    """What is wrong with entries that others made; empty when nothing is. The text is the original's."""
    for index, entry in enumerate(entries):
        problem = _entry_problem(entry, index)
        if problem:
            return problem
    return ""


def _entry_problem(entry: Entry, index: int) -> str:
    if entry.get("operation") not in _OPERATIONS:
        return "operation must be `Apply` or `Update`"
    if not entry.get("apiVersion"):
        return "apiVersion must not be empty"
    fields_type = entry.get("fieldsType")
    if not fields_type:
        return f"missing fieldsType in managed fields entry {index}"
    if fields_type != FIELDS_TYPE:
        return f'invalid fieldsType "{fields_type}" in managed fields entry {index}'
    try:
        read_fields(entry.get("fieldsV1"))
    except ValueError as error:
        return f"error decoding versioned set: error decoding set: {error}"
    return ""


def _read_entry(entry: Entry) -> Entry:
    if entry.get("operation") not in _OPERATIONS or entry.get("fieldsType") != FIELDS_TYPE:
        raise ValueError("no entry of managedFields")
    return {**entry, "fieldsV1": read_fields(entry.get("fieldsV1"))}


def capped(entries: list[Entry]) -> list[Entry]:
    """The entries, the oldest of a version merged into one when plain writers are too many."""
    updaters = [entry for entry in entries if entry.get("operation") == UPDATE]
    excess = len(updaters) - UPDATE_MANAGERS_MAX
    if excess <= 0:
        return entries
    first: dict[str, Entry] = {}
    buckets: dict[str, Entry] = {}
    gone: list[Entry] = []
    for entry in sorted(updaters, key=order):
        if excess <= 0:
            break
        version = entry.get("apiVersion", "")
        oldest = first.setdefault(version, entry)
        if oldest is entry:
            continue
        if version not in buckets:
            buckets[version] = {**oldest, "manager": OLD_UPDATES_MANAGER}
            buckets[version].pop("subresource", None)
            gone.append(oldest)
        bucket = buckets[version]
        bucket["fieldsV1"] = union(entry["fieldsV1"], bucket["fieldsV1"])
        bucket["time"] = entry.get("time")
        gone.append(entry)
        excess -= 1
    return [entry for entry in entries if not any(entry is one for one in gone)] + list(buckets.values())


def same_but_for_times(left: Sequence[Entry], right: Sequence[Entry]) -> bool:
    """Whether two lists of entries tell of the same owners of the same fields."""
    return _timeless(left) == _timeless(right)


def _timeless(entries: Sequence[Entry]) -> dict[Identity, Entry]:
    return {
        identity(entry): {name: value for name, value in entry.items() if name != "time"} for entry in entries
    }
