"""What a write changes, told in the version of each manager; and what managers lose by it."""

from collections.abc import Sequence
from typing import Any

from kinepy_server.apply.compare import Comparison, compare
from kinepy_server.apply.field_set import FieldSet, difference
from kinepy_server.apply.managers import Entry
from kinepy_server.apply.owned import reconciled
from kinepy_server.apply.versions import Versions

JsonObject = dict[str, Any]


class Changes:
    """The changes between two objects in the version of the request; those in other versions when asked for."""

    __slots__ = ("_by_version", "_new", "_old", "_versions", "own")

    def __init__(self, versions: Versions, old: JsonObject, new: JsonObject) -> None:
        self._versions, self._old, self._new = versions, old, new
        self.own = compare(versions.type, old, new)
        self._by_version: dict[str, Comparison | None] = {versions.api_version: self.own}

    def __bool__(self) -> bool:
        return bool(self.own.written or self.own.removed)

    def at(self, api_version: str) -> Comparison | None:
        """The changes as a version shows them; None when the version is not served any more."""
        if api_version not in self._by_version:
            version = self._versions.find(api_version)
            found = None
            if version is not None:
                found = compare(version.type, version.convert(self._old), version.convert(self._new))
            self._by_version[api_version] = found
        return self._by_version[api_version]


def settled_entries(entries: Sequence[Entry], versions: Versions) -> list[Entry]:
    """The entries as the types of today tell them."""
    if versions.fixed:
        return list(entries)
    settled = []
    for entry in entries:
        version = versions.find(entry.get("apiVersion", ""))
        fields = entry["fieldsV1"] if version is None else reconciled(version.type, entry["fieldsV1"])
        settled.append(entry if fields == entry["fieldsV1"] else {**entry, "fieldsV1": fields})
    return settled


def released(entries: Sequence[Entry], changes: Changes) -> list[Entry]:
    """The entries without the fields that were changed. Those of versions not served any more go."""
    kept = []
    for entry in entries:
        found = changes.at(entry.get("apiVersion", ""))
        if found is None:
            continue
        fields: FieldSet = entry["fieldsV1"]
        rest: FieldSet | None = fields
        if found.written:
            rest = difference(rest, found.written)
        if found.removed:
            rest = difference(rest, found.removed)
        if rest == fields:
            kept.append(entry)
        elif rest is not None:
            kept.append({**entry, "fieldsV1": rest})
    return kept
