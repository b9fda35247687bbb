"""managedFields of plain writes: who wrote which fields last (SSA-5, SSA-8). Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kinepy_server.apply.changes import Changes, released, settled_entries
from kinepy_server.apply.field_set import FieldSet, difference, union
from kinepy_server.apply.managers import UPDATE, Entry, capped, given_entries, identity, in_order, new_entry
from kinepy_server.apply.versions import Versions

MANAGER_BYTES_MAX = 128
AGENT_CHARACTERS_MAX = 1024

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes: the manager's name, through which version and subresource, and when (RFC 3339)."""

    manager: str
    versions: Versions
    subresource: str
    now: str


def manager_of(field_manager: str, user_agent: str) -> str:
    """The manager of a write: the given one, else what the user agent says before its first slash."""
    # What is beyond counts for nothing, unless it is not printable; the cache holds short texts only.
    return field_manager or _agent_name(user_agent.partition("/")[0][:AGENT_CHARACTERS_MAX])


@lru_cache(maxsize=1024)
def _agent_name(prefix: str) -> str:
    kept, size = [], 0
    for character in prefix:
        if character.isprintable():
            size += len(character.encode())
            if size > MANAGER_BYTES_MAX:
                break
            kept.append(character)
    return "".join(kept) or "unknown"


def track_update(new: JsonObject, old: JsonObject | None, *, writer: Writer) -> None:
    """Set the managedFields of `new`, which a writer made of `old` (None on create).

    What the writer changed becomes its own and stops being others'; what it removed is nobody's. A client
    may hand in entries of its own; an empty list (or one empty entry) makes the history start anew. An object
    whose history was forgotten gets none by plain writes.
    """
    metadata = new["metadata"]
    live: list[Entry] = (old["metadata"].get("managedFields") or []) if old else []
    entries = given_entries(metadata.get("managedFields"), live, subresource=writer.subresource)
    if entries or old is None:
        entries = updated(entries, writer.versions.empty if old is None else old, new, writer=writer)
    if entries:
        metadata["managedFields"] = entries
    else:
        metadata.pop("managedFields", None)


def updated(entries: Sequence[Entry], old: JsonObject, new: JsonObject, *, writer: Writer) -> list[Entry]:
    """The entries after a plain write."""
    changes = Changes(writer.versions, old, new)
    kept = settled_entries(entries, writer.versions)
    written = changes.own.written
    if not kept:
        return [_own(written, writer)] if written else []
    if len(kept) == 1 and written and not changes.own.removed and _is_own(kept[0], written, writer):
        return [{**kept[0], "time": writer.now}]
    if changes:
        kept = released(kept, changes)
        if written:
            kept = capped(_with_own(kept, written, writer))
    return in_order(kept)


def _is_own(entry: Entry, written: FieldSet, writer: Writer) -> bool:
    """Whether a plain writer owned what it wrote, so that nothing but the time changes."""
    mine = writer.manager, UPDATE, writer.versions.api_version, writer.subresource
    return identity(entry) == mine and difference(written, entry["fieldsV1"]) is None


def _own(written: FieldSet, writer: Writer) -> Entry:
    return new_entry(
        writer.manager,
        UPDATE,
        written,
        api_version=writer.versions.api_version,
        subresource=writer.subresource,
        time=writer.now,
    )


def _with_own(entries: Sequence[Entry], written: FieldSet, writer: Writer) -> list[Entry]:
    own = _own(written, writer)
    mine = identity(own)
    others = []
    for entry in entries:
        if identity(entry) == mine:
            own["fieldsV1"] = union(entry["fieldsV1"], own["fieldsV1"])
        else:
            others.append(entry)
    return [*others, own]
