"""Server-side apply (SSA-1..9): what a configuration makes of an object and of who owns its fields. Pure."""

from dataclasses import dataclass
from typing import Any

from kinepy_server.apply.changes import Changes, released, settled_entries
from kinepy_server.apply.compare import UNTRACKED, UNTRACKED_METADATA
from kinepy_server.apply.conflicts import ApplyConflict, conflicts_of
from kinepy_server.apply.field_set import FieldSet, difference
from kinepy_server.apply.managed_fields import Writer, updated
from kinepy_server.apply.managers import APPLY, Entry, identity, in_order, new_entry, same_but_for_times
from kinepy_server.apply.merge import merge
from kinepy_server.apply.owned import fields_of
from kinepy_server.apply.prune import prune

JsonObject = dict[str, Any]

FIRST_MANAGER = "before-first-apply"
_UNOWNED: FieldSet = {
    **{f"f:{name}": {} for name in UNTRACKED},
    "f:metadata": {".": {}, **{f"f:{name}": {} for name in UNTRACKED_METADATA}},
}


@dataclass(frozen=True, slots=True)
class Applied:
    """The object, still to be decoded and defaulted, or None when it stays as it is; and who owns its fields."""

    object: JsonObject | None
    entries: list[Entry]


def apply(
    live: JsonObject,
    config: JsonObject,
    *,
    writer: Writer,
    force: bool,
    ignored: frozenset[str] = frozenset(),
) -> Applied:
    """Apply a configuration, checked by `check_typed`, to the stored object (or an empty one). Neither is changed,
    but the result shares parts with them.

    `ignored` are the members that the endpoint does not write. Raises ApplyConflict unless `force`.
    """
    entries = settled_entries(live["metadata"].get("managedFields") or (), writer.versions)
    live, config = _bare(live), {name: value for name, value in config.items() if name not in ignored}
    if not entries:
        entries = _before_first(live, writer, ignored=ignored)
    versions = writer.versions
    fields = fields_of(versions.type, config) or {}
    own = new_entry(
        writer.manager,
        APPLY,
        difference(fields, _UNOWNED) or {},
        api_version=versions.api_version,
        subresource=writer.subresource,
        time=None,
    )
    others = [entry for entry in entries if identity(entry) != identity(own)]
    last = next((entry for entry in entries if identity(entry) == identity(own)), None)
    merged = merge(versions.type, live, config)
    if last is not None:
        held = [(entry.get("apiVersion", ""), entry["fieldsV1"]) for entry in others]
        held.append((versions.api_version, fields))
        merged = prune(merged, last["fieldsV1"], version=last["apiVersion"], held=held, versions=versions)
    changes = Changes(versions, live, merged)
    conflicts = conflicts_of(others, changes)
    if conflicts and not force:
        raise ApplyConflict(conflicts)
    changed = merged != live
    time = writer.now if changed else (last or {}).get("time")
    if time:
        own["time"] = time
    kept = released(others, changes)
    if own["fieldsV1"]:
        kept.append(own)
    return Applied(merged if changed else None, in_order(kept))


def disowned(entries: list[Entry], reset: frozenset[str], *, writer: Writer) -> list[Entry]:
    """The entries, the applier's without members of metadata that the endpoint has set back."""
    if not reset:
        return entries
    gone: FieldSet = {"f:metadata": {f"f:{name}": {} for name in reset}}
    own = (writer.manager, APPLY, "", writer.subresource)
    kept = []
    for entry in entries:
        fields = entry["fieldsV1"] if identity(entry) != own else _cut(entry["fieldsV1"], gone)
        if fields:
            kept.append({**entry, "fieldsV1": fields})
    return kept


def _cut(fields: FieldSet, gone: FieldSet) -> FieldSet:
    """The set without the paths at and below those of another."""
    rest: FieldSet = {}
    for element, below in fields.items():
        other = gone.get(element)
        if other is None:
            rest[element] = below
        elif other and (kept := _cut(below, other)):
            rest[element] = kept
    return rest


def settled(entries: list[Entry], new: JsonObject, old: JsonObject) -> list[Entry]:
    """The entries of a changed object: the stored ones, times and all, when nothing changed but times."""
    stored: list[Entry] = old["metadata"].get("managedFields") or []
    unchanged = same_but_for_times(entries, stored) and _bare(new) == _bare(old)
    return stored if unchanged else entries


def _bare(live: JsonObject) -> JsonObject:
    metadata = {name: value for name, value in live["metadata"].items() if name != "managedFields"}
    return {**live, "metadata": metadata}


def _before_first(live: JsonObject, writer: Writer, *, ignored: frozenset[str]) -> list[Entry]:
    """What an object had when nobody's fields were known belongs to a manager of its own."""
    first = Writer(FIRST_MANAGER, writer.versions, writer.subresource, writer.now)
    empty = writer.versions.empty
    return updated((), _without(empty, ignored), _without(live, ignored), writer=first)


def _without(obj: JsonObject, names: frozenset[str]) -> JsonObject:
    return {name: value for name, value in obj.items() if name not in names}
