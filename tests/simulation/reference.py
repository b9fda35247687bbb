"""What the committed transactions mean, worked out again in the plainest way.

Built from the rows as they were committed, of which it believes only revision, sub, key, value and lease.
Nothing is ever taken back: after a fail-over the lost revisions stay known as a branch that ended.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kinepy import Event, EventType, KeyRange, KeyValue, Revision
from kinepy.drivers.base import EpochRow, LeaseRow, LogRow
from tests.simulation.floors import Floors, floor_of, floor_of_key

State = Mapping[bytes, KeyValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One committed transaction."""

    node: str
    now_us: int
    rows: tuple[LogRow, ...] = ()
    leases: tuple[LeaseRow, ...] = ()
    leases_gone: tuple[int, ...] = ()
    floors: tuple[tuple[bytes, Revision], ...] = ()
    epochs: tuple[EpochRow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """What of the truth stands in a copy of the database."""

    newest: Revision
    leases: Mapping[int, LeaseRow]
    floors: Mapping[bytes, Revision]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewind:
    """An older copy took over: how the store stood before, up to what it survived, and what had been lost before."""

    newest: Revision
    survived: Revision
    floors: Mapping[bytes, Revision]
    lost: frozenset[Revision]


class Rise(NamedTuple):
    """A floor rose."""

    commit: int
    prefix: bytes
    before: Revision
    after: Revision


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
    commits: list[Commit] = field(default_factory=list)
    states: dict[Revision, State] = field(default_factory=lambda: {Revision(1): {}})
    events: dict[Revision, list[Event]] = field(default_factory=dict)
    rows: dict[Revision, list[LogRow]] = field(default_factory=dict)
    leases: dict[int, LeaseRow] = field(default_factory=dict)
    floors: Mapping[bytes, Revision] = field(default_factory=lambda: {b"": Revision(1)})
    rises: list[Rise] = field(default_factory=list)
    bases: list[tuple[Revision, Revision]] = field(default_factory=list)
    """(base, the revision before it) of every epoch but the first"""
    rewinds: list[Rewind] = field(default_factory=list)
    lost: set[Revision] = field(default_factory=set)
    """the revisions that a fail-over lost; they stay among the states"""
    branches: dict[int, tuple[Mapping[int, LeaseRow], State]] = field(default_factory=dict)
    """leases and state with which each of them began, by the number of transactions committed before"""
    seen: Revision = Revision(1)
    """the newest revision that ever was committed"""
    shown: Revision = Revision(1)
    """the newest one that any client was told of"""
    announced: Revision = Revision(0)
    """the base of the last epoch of which everybody is told"""
    unsettled: bool = False
    """commits were lost, and no epoch has begun since"""
    must_settle: bool = False
    """whoever writes next can tell that some may have been lost, whatever it has seen itself"""
    _committed_at: int = 0

    @property
    def floor(self) -> Revision:
        """The oldest revision at which everything can be read."""
        return max(self.floors.values())

    def floor_of(
        self, key_range: KeyRange, floors: Floors | None = None, *, rewinds: int | None = None
    ) -> Revision:
        """The oldest revision at which a range can be read, now or with the floors given; those that a fail-over lost
        count as well, since nodes may remember them."""
        known = [self.floors if floors is None else floors]
        known += [rewind.floors for rewind in self.rewinds[:rewinds]]
        return max(floor_of(each, key_range) for each in known)

    def commit(self, commit: Commit) -> None:
        """Take a committed transaction in."""
        self.commits.append(commit)
        for epoch in commit.epochs:
            self._begin(epoch)
        by_revision: dict[Revision, list[LogRow]] = {}
        for row in commit.rows:
            by_revision.setdefault(row.revision, []).append(row)
        for revision, rows in by_revision.items():
            self._apply(revision, rows)
        for lease in commit.leases:
            self.leases[lease.id] = lease
        for gone in commit.leases_gone:
            self.leases.pop(gone, None)
        if commit.floors:
            self._raise(commit.floors)

    def _raise(self, floors: tuple[tuple[bytes, Revision], ...]) -> None:
        """Floors never fall, and neither does any key's when a prefix gets a floor of its own."""
        for prefix, revision in floors:
            before = self.floors
            self.floors = {**before, prefix: max(before.get(prefix, Revision(1)), revision)}
            if revision > self.newest:
                self.broken("P7 compaction", f"the floor of {prefix!r} is {revision}, after {self.newest}")
            was, now = floor_of_key(before, prefix), self.floors[prefix]
            if now < was:
                self.broken("P7 compaction", f"the floor of {prefix!r} fell from {was} to {now}")
            if now > was:
                self.rises.append(Rise(len(self.commits) - 1, prefix, was, now))

    def _apply(self, revision: Revision, rows: list[LogRow]) -> None:
        if revision != self.newest + 1:
            self.broken("P1 order", f"revision {revision} was committed after {self.newest}")
        if revision in self.states:
            self._use_again(revision)
        if self.unsettled and self.must_settle:
            self.broken("P12 restore", f"revision {revision} was committed before an epoch began")
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

    def _use_again(self, revision: Revision) -> None:
        """A number may be given out again only if it was lost before anybody was told of it."""
        if revision not in self.lost:
            self.broken("P2 never again", f"revision {revision} was committed twice")
        elif revision <= self.shown:
            self.broken("P12 restore", f"revision {revision} is used again; clients have seen {self.shown}")
        self.lost.discard(revision)

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

    # --- fail-over

    def copy(self) -> Copy:
        """What a copy of the database that is made now holds."""
        return Copy(newest=self.newest, leases=dict(self.leases), floors=self.floors)

    def rewind(self, copy: Copy, *, must_settle: bool) -> None:
        """An older copy took over. An epoch is to begin, at the latest when somebody asks who has seen more."""
        self.rewinds.append(
            Rewind(newest=self.newest, survived=copy.newest, floors=self.floors, lost=frozenset(self.lost))
        )
        self.lost |= {revision for revision in self.states if revision > copy.newest}
        self.newest = copy.newest
        self.floors, self.leases = copy.floors, dict(copy.leases)
        self._committed_at = max((row.committed_at for row in self.rows.get(copy.newest, ())), default=0)
        self.branches[len(self.commits)] = copy.leases, self.states[copy.newest]
        self.unsettled, self.must_settle = True, must_settle

    def _begin(self, epoch: EpochRow) -> None:
        """An epoch begins: once for each fail-over, and ahead of all that ever was."""
        base, at = epoch.base_revision, f"epoch {epoch.number} at {epoch.base_revision}"
        if not self.unsettled:
            self.broken("P12 restore", f"{at} begins although nothing was lost")
        if base <= max(self.seen, self.shown):
            self.broken("P12 restore", f"{at} is not ahead of {self.seen}")
        self.unsettled = False
        self.states[base] = self.states[self.newest]
        self.events[base], self.rows[base] = [], []
        self.bases.append((base, self.newest))
        self.newest = self.seen = base
        self.floors = {prefix: max(base, floor) for prefix, floor in self.floors.items()}

    def is_lost(self, revision: Revision) -> bool:
        """Whether a fail-over lost the revision."""
        return revision in self.lost

    def between(self, after: Revision, upto: Revision, key_range: KeyRange) -> list[Event]:
        """The events of a range with after < revision <= upto, in order, without those that were lost."""
        revisions = sorted(each for each in self.events if after < each <= upto and each not in self.lost)
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
