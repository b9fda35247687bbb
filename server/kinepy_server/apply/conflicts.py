"""Conflicts between appliers and other managers, in the original's words (SSA-4)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kinepy_server.apply.changes import Changes
from kinepy_server.apply.elements import path_text
from kinepy_server.apply.field_set import FieldSet, difference, intersection, paths, union
from kinepy_server.apply.managers import UPDATE, Entry, identity_text


@dataclass(frozen=True, slots=True)
class Conflict:
    """Fields that a configuration sets to other values than their manager did."""

    entry: Entry
    fields: FieldSet

    @property
    def manager(self) -> str:
        """The manager as messages name it."""
        told = f'"{self.entry["manager"]}"'
        subresource = self.entry.get("subresource")
        if subresource:
            told += f' with subresource "{subresource}"'
        if self.entry["operation"] == UPDATE:
            told += f" using {self.entry['apiVersion']}"
        return told

    @property
    def paths(self) -> Sequence[str]:
        """The fields as messages show them."""
        return [path_text(path) for path in paths(self.fields)]


class ApplyConflict(Exception):
    """Other managers own fields with other values."""

    def __init__(self, conflicts: Sequence[Conflict]) -> None:
        super().__init__(_message(conflicts))
        self.conflicts = conflicts

    @property
    def causes(self) -> Sequence[tuple[str, str]]:
        """Message and field of each cause."""
        return [
            (f"conflict with {conflict.manager}", path)
            for conflict in self.conflicts
            for path in conflict.paths
        ]

    @property
    def fields(self) -> FieldSet | None:
        """All fields in conflict."""
        found: FieldSet | None = None
        for conflict in self.conflicts:
            found = union(found, conflict.fields)
        return found

    def without(self, allowed: FieldSet | None) -> "ApplyConflict | None":
        """The conflicts about other fields than these, if any."""
        rest = [
            Conflict(conflict.entry, fields)
            for conflict in self.conflicts
            if (fields := difference(conflict.fields, allowed)) is not None
        ]
        return ApplyConflict(rest) if rest else None


def conflicts_of(entries: Iterable[Entry], changes: Changes) -> list[Conflict]:
    """Who owns fields that are to be changed."""
    found = []
    for entry in entries:
        changed = changes.at(entry.get("apiVersion", ""))
        fields = intersection(entry["fieldsV1"], changed.written or None) if changed else None
        if fields is not None:
            found.append(Conflict(entry, fields))
    return sorted(found, key=lambda conflict: identity_text(conflict.entry))


def _message(conflicts: Sequence[Conflict]) -> str:
    total = sum(len(conflict.paths) for conflict in conflicts)
    if total == 1:
        only = conflicts[0]
        return f"Apply failed with 1 conflict: conflict with {only.manager}: {only.paths[0]}"
    lines = []
    for conflict in conflicts:
        lines.append(f"conflicts with {conflict.manager}:")
        lines += (f"- {path}" for path in conflict.paths)
    return f"Apply failed with {total} conflicts: " + "\n".join(lines)
