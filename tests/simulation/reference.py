"""What the committed transactions mean, worked out again in the plainest way.

Built from the rows as they were committed, of which it believes only revision, sub, key, value and lease.
Nothing is ever taken back: after a fail-over the lost revisions stay known as a branch that ended.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kinepy import Event, EventType, KeyRange, KeyValue, Revision
from kinepy.drivers.base import LeaseRow, LogRow

State = Mapping[bytes, KeyValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One committed transaction."""

    index: int
    node: str
    now_us: int
    rows: tuple[LogRow, ...]
    leases: tuple[LeaseRow, ...]
    leases_gone: tuple[int, ...]
    floors: tuple[tuple[bytes, Revision], ...]


@dataclass(frozen=True, slots=True)
class Violation:
    """A promise was broken: which one, and how it shows."""

    promise: str
    text: str

    def __str__(self) -> str:
        return f"{self.promise}: {self.text}"


@dataclass
class Reference:
    """States and events by revision."""

    violations: list[Violation]
    newest: Revision = Revision(1)
    floor: Revision = Revision(1)
    commits: list[Commit] = field(default_factory=list)
    states: dict[Revision, State] = field(default_factory=lambda: {Revision(1): {}})
    events: dict[Revision, list[Event]] = field(default_factory=dict)
    rows: dict[Revision, list[LogRow]] = field(default_factory=dict)
    leases: dict[int, LeaseRow] = field(default_factory=dict)
    bases: list[tuple[Revision, Revision]] = field(default_factory=list)
    """(base, newest surviving revision) of every epoch but the first"""
    branches: dict[int, tuple[Mapping[int, LeaseRow], State]] = field(default_factory=dict)
    """leases and state with which each of them began, by the number of transactions committed before"""
    seen: Revision = Revision(1)
    _committed_at: int = 0

    def commit(self, commit: Commit) -> None:
        """Take a committed transaction in."""
        self.commits.append(commit)
        by_revision: dict[Revision, list[LogRow]] = {}
        for row in commit.rows:
            by_revision.setdefault(row.revision, []).append(row)
        for revision, rows in by_revision.items():
            self._apply(revision, rows)
        for lease in commit.leases:
            self.leases[lease.id] = lease
        for gone in commit.leases_gone:
            self.leases.pop(gone, None)
        for prefix, revision in commit.floors:
            if prefix == b"":
                self.floor = max(self.floor, revision)

    def _apply(self, revision: Revision, rows: list[LogRow]) -> None:
        if revision != self.newest + 1:
            self.broken("P1 order", f"revision {revision} was committed after {self.newest}")
        if revision in self.states:
            self.broken("P2 never again", f"revision {revision} was committed twice")
        before = self.states.get(self.newest, {})
        state, events = dict(before), []
        for place, row in enumerate(rows):
            self._check_row(row, place, state.get(row.key))
            event = _event(row, state.get(row.key))
            if row.value is None:
                state.pop(row.key, None)
            else:
                state[row.key] = event.kv
            events.append(event)
        self.states[revision], self.events[revision], self.rows[revision] = state, events, rows
        self.newest = revision
        self.seen = max(self.seen, revision)

    def _check_row(self, row: LogRow, place: int, current: KeyValue | None) -> None:
        at = f"revision {row.revision}.{row.sub} of {row.key!r}"
        if row.sub != place:
            self.broken("P1 order", f"{at} stands at place {place}")
        if row.committed_at < self._committed_at:
            self.broken("P1 order", f"{at} runs back in time: {row.committed_at} after {self._committed_at}")
        self._committed_at = row.committed_at
        if row.prev_revision != (current.mod_revision if current else 0):
            self.broken("P1 order", f"{at} follows {row.prev_revision}, the key was at {current}")
        if row.value is None:
            if current is None:
                self.broken("P1 order", f"{at} deletes a key that does not exist")
            return
        version = current.version + 1 if current else 1
        created = current.create_revision if current else row.revision
        if (row.version, row.create_revision) != (version, created):
            self.broken("P1 order", f"{at} has version {row.version}, created {row.create_revision}")
        if row.lease is not None and row.lease not in self.leases:
            self.broken("P8 leases", f"{at} is attached to lease {row.lease}, which does not exist")

    def branch(self, *, survived: Revision, base: Revision, leases: Mapping[int, LeaseRow]) -> None:
        """An older copy of the database took over, and an epoch began at `base`."""
        self.states[base] = self.states[survived]
        self.events[base], self.rows[base] = [], []
        self.bases.append((base, survived))
        self.newest, self.floor = base, base
        self._committed_at = max((row.committed_at for row in self.rows.get(survived, ())), default=0)
        self.leases = dict(leases)
        self.branches[len(self.commits)] = leases, self.states[base]

    def is_lost(self, revision: Revision) -> bool:
        """Whether a fail-over lost the revision."""
        return any(survived < revision < base for base, survived in self.bases)

    def between(self, after: Revision, upto: Revision, key_range: KeyRange) -> list[Event]:
        """The events of a range with after < revision <= upto, in order."""
        revisions = sorted(each for each in self.events if after < each <= upto)
        return [event for each in revisions for event in self.events[each] if event.kv.key in key_range]

    def broken(self, promise: str, text: str) -> None:
        """Note a violation."""
        self.violations.append(Violation(promise, text))


def _event(row: LogRow, current: KeyValue | None) -> Event:
    if row.value is None:
        return Event(EventType.DELETE, KeyValue(row.key, b"", Revision(0), row.revision, 0), current)
    created = current.create_revision if current else row.revision
    version = current.version + 1 if current else 1
    kv = KeyValue(row.key, row.value, created, row.revision, version, row.lease)
    return Event(EventType.PUT, kv, current)


def within(state: State, key_range: KeyRange) -> list[KeyValue]:
    """The items of a state in a range, in key order."""
    return [state[key] for key in sorted(state) if key in key_range]
