"""Deliberately broken parts of the store. A simulation that does not catch each of them proves nothing.

Each is the real part with one promise taken out of it, the way a plausible mistake would.
"""

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from kinepy.errors import StorageUnavailable, WatchOverflow, WriteOutcomeUnknown
from kinepy.keys import KeyRange
from kinepy.log import tail as tail_module
from kinepy.log.barrier import Barrier
from kinepy.log.committer import Committer
from kinepy.log.draft import Draft
from kinepy.log.hub import Group, Hub, Subscription
from kinepy.log.prereads import Prereader
from kinepy.log.rows import event_of
from kinepy.log.tail import Tail
from kinepy.records import Event
from kinepy.revision import Revision
from kinepy.store import watch as watch_module
from kinepy.store import writes as writes_module
from kinepy.store.lease import EndLease
from kinepy.store.reads import Reads
from kinepy.store.ring import Ring
from kinepy.store.watch import History
from tests.simulation.driver import SimDriver, SimMaintenance, SimWrite
from tests.simulation.faults import Fault
from tests.simulation.run import Plan, simulate

Patch = tuple[Any, str, Any]


@dataclass(frozen=True, slots=True)
class Broken:
    """A mistake: its name, the promises as whose breach it may show, and what replaces the real parts."""

    name: str
    promises: tuple[str, ...]
    patches: Callable[[], Sequence[Patch]]
    settings: Mapping[str, int]
    faults: frozenset[Fault] | None

    @property
    def plan(self) -> Plan:
        """Under what the mistake shows soonest."""
        return Plan(settings=dict(self.settings), faults=self.faults)

    def first_seed_that_notices(self, seeds_max: int) -> int | None:
        """The first seed whose run breaks one of the promises."""
        with self.applied():
            for seed in range(seeds_max):
                broken = {each.promise.split()[0] for each in simulate(seed, self.plan).violations}
                if not broken.isdisjoint(self.promises):
                    return seed
        return None

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Run with the mistake."""
        with ExitStack() as stack:
            for target, name, replacement in self.patches():
                stack.enter_context(patch.object(target, name, replacement))
            yield


BROKEN: list[Broken] = []


def broken(
    *promises: str, faults: Sequence[Fault] | None = None, **settings: int
) -> Callable[[Callable[[], Sequence[Patch]]], Callable[[], Sequence[Patch]]]:
    """Register a mistake under the name of its function, with the settings and faults under which it shows soonest."""

    def register(patches: Callable[[], Sequence[Patch]]) -> Callable[[], Sequence[Patch]]:
        kinds = None if faults is None else frozenset(faults)
        BROKEN.append(Broken(patches.__name__, promises, patches, settings, kinds))
        return patches

    return register


# --- the order lock and the commit


@broken("P1", "P2", "P3", "P9")
def lock_and_check_in_one_statement() -> Sequence[Patch]:
    """The snapshot that is checked is older than the lock."""

    async def begin(self: SimDriver, tx: SimWrite, keys: Collection[bytes]) -> None:
        await tx.read_heads(keys)
        await self.lock(tx)

    return [(SimDriver, "begin", begin)]


@broken("P1", "P2")
def counter_from_the_newest_row_alone() -> Sequence[Patch]:
    """After a fail-over numbers are given out again, since the epoch's base is forgotten."""
    real = SimWrite.read_heads

    async def read_heads(self: SimWrite, keys: Collection[bytes]) -> None:
        await real(self, keys)
        text = "SELECT coalesce(max(revision), 1) FROM log"
        rows = await self.connection.run(lambda raw: raw.execute(text).fetchall())
        self.revision = Revision(rows[0][0])

    return [(SimWrite, "read_heads", read_heads)]


@broken("P4", "P5", "P6")
def acknowledged_before_commit() -> Sequence[Patch]:
    """A commit that fails is taken for done."""
    real = SimDriver.commit

    async def commit(self: SimDriver, tx: SimWrite) -> None:
        try:
            await real(self, tx)
        except (StorageUnavailable, WriteOutcomeUnknown):
            return

    return [(SimDriver, "commit", commit)]


@broken("P6", "P5")
def published_before_commit() -> Sequence[Patch]:
    """Watchers are told inside the transaction."""
    real = Committer._draft

    async def draft(self: Committer, *arguments: Any) -> Draft:
        drafted = await real(self, *arguments)
        if drafted.rows:
            self._follower.committed(arguments[1].first, drafted.revision, drafted.events)
        return drafted

    return [(Committer, "_draft", draft)]


@broken("P4")
def unknown_reported_as_failed() -> Sequence[Patch]:
    """A commit whose answer was lost is called failed."""

    async def find_out(self: Committer, attempt: Any, error: Any, *, give_up: float) -> None:
        for write in attempt.writes:
            if not write.answer.done():
                write.answer.set_exception(StorageUnavailable(error.reason))

    return [(Committer, "_find_out", find_out)]


@broken("P4", "P3")
def unknown_repeated_without_looking() -> Sequence[Patch]:
    """A commit whose answer was lost is done again."""

    async def find_out(self: Committer, attempt: Any, error: Any, *, give_up: float) -> None:
        await self._commit(attempt.writes, give_up=give_up)

    return [(Committer, "_find_out", find_out)]


@broken("P4", "P3")
def unknown_looked_for_without_the_lock() -> Sequence[Patch]:
    """The dying backend commits after we have looked."""

    async def find_out(self: Committer, attempt: Any, error: Any, *, give_up: float) -> None:
        async with self._driver.read() as tx:
            found = await tx.batch(attempt.batch)
        if found is None:
            await self._commit(attempt.writes, give_up=give_up)
        else:
            self._acknowledge(attempt)

    return [(Committer, "_find_out", find_out)]


@broken("P1")
def time_of_the_log_follows_the_clock() -> Sequence[Patch]:
    """A clock that was set back takes the log with it."""
    real = Draft.__init__

    def init(self: Draft, **options: Any) -> None:
        real(self, **options)
        self.committed_at = options["now_us"]

    return [(Draft, "__init__", init)]


@broken("P1", "P9")
def a_failed_write_takes_a_number() -> Sequence[Patch]:
    """A conflict leaves a hole in the log."""
    real = writes_module.check_expected

    def check_expected(draft: Draft, key: bytes, expect: Revision | None) -> Any:
        try:
            return real(draft, key, expect)
        except Exception:
            draft.revision = Revision(draft.revision + 1)
            raise

    return [(writes_module, "check_expected", check_expected)]


# --- compare and write


@broken("P3")
def expected_revision_not_compared() -> Sequence[Patch]:
    """Everybody who expects something wins."""
    real = writes_module.check_expected
    return [(writes_module, "check_expected", lambda draft, key, expect: real(draft, key, None))]


@broken("P3", "P1", "P9")
def memory_trusted_under_the_lock() -> Sequence[Patch]:
    """The local index is used although others have committed since."""
    real = Prereader.__init__

    def init(self: Prereader, tx: Any, draft: Draft, local: Any, *, keys_max: int) -> None:
        real(self, tx, draft, local, keys_max=keys_max)
        self._local_is_head = local.complete

    return [(Prereader, "__init__", init)]


# --- reading


@broken("P5")
def stale_read() -> Sequence[Patch]:
    """A read answers from memory without asking the database."""

    async def catch_up(self: Reads) -> Revision:
        return self._cache.revision

    return [(Reads, "catch_up", catch_up)]


@broken("P5", faults=[Fault.SLOW_NODE, Fault.LOST_SIGNAL])
def read_shares_a_look_that_began_before_it() -> Sequence[Patch]:
    """The look may have been answered before a write that was acknowledged before the read."""
    real = Barrier.current

    def current(self: Barrier) -> "asyncio.Future[Revision]":
        if getattr(self, "_running", None) is not None and not self._running.done():  # type: ignore[attr-defined]
            running: asyncio.Future[Revision] = self._running  # type: ignore[attr-defined]
            return running
        self._running = real(self)  # type: ignore[attr-defined]
        return self._running  # type: ignore[attr-defined,no-any-return]

    return [(Barrier, "current", current)]


@broken("P5", "P9")
def snapshot_undone_by_one_too_few() -> Sequence[Patch]:
    """A read at R from memory sees R + 1."""
    real = Ring.undo
    return [(Ring, "undo", lambda self, key_range, *, after: real(self, key_range, after=after + 1))]


@broken("P5", "P7", faults=[Fault.LOST_SIGNAL], ring_bytes_max=0, compaction_batch_rows=1000)
def floor_not_looked_at_in_the_snapshot() -> Sequence[Patch]:
    """History that was compacted since is read as if it were there."""

    async def check_snapshot(self: Reads, tx: Any, key_range: KeyRange, at: Revision | None) -> Revision:
        current: Revision = await tx.current()
        return current if at is None else at

    return [(Reads, "_check_snapshot", check_snapshot)]


# --- the tail and the watches


@broken("P6", "P5")
def tail_jumps_a_hole() -> Sequence[Patch]:
    """Own commits are published although others' before them are not there yet."""

    def committed(self: Tail, first: Revision, last: Revision, events: Sequence[Event]) -> None:
        if first > self.applied:
            self._state.apply(events, last)
            self._hub.publish(events, last)
            self._wake_waiters()

    return [(Tail, "committed", committed)]


@broken("P6")
def filter_off_by_one() -> Sequence[Patch]:
    """The end of a range is taken for a part of it."""
    real = Hub._interested

    def interested(self: Hub, key: bytes) -> list[Group]:
        found = real(self, key)
        return found + [group for group in self._others.values() if group.key_range.end == key]

    return [(Hub, "_interested", interested)]


@broken("P6")
def progress_ahead_of_delivery() -> Sequence[Patch]:
    """Progress is what was published, not what was taken."""
    return [(Subscription, "progress", property(lambda self: self._hub.revision))]


@broken("P6")
def overflow_dropped_in_silence() -> Sequence[Patch]:
    """A full queue lets go of its oldest events."""
    real = Subscription.offer

    def offer(self: Subscription, events: Sequence[Event], size_bytes: int, limits: Any) -> bool:
        if self._chunks and self._count + len(events) > limits.watch_queue_events_max:
            self._count -= len(self._chunks.pop(0))
        return real(self, events, size_bytes, limits) if self._error is None else False

    return [(Subscription, "offer", offer)]


@broken("P10", faults=[], watch_queue_events_max=1, batch_writes_max=1, page_rows_max=1)
def queue_without_a_bound() -> Sequence[Patch]:
    """A slow watcher's queue grows for ever."""

    def offer(self: Subscription, events: Sequence[Event], size_bytes: int, limits: Any) -> bool:
        if not self._chunks:
            self._delivered = self._hub.revision
        self._chunks.append(events)
        self._wake()
        return True

    return [(Subscription, "offer", offer)]


@broken("P6")
def overflow_resumes_one_too_late() -> Sequence[Patch]:
    """The revision to watch from again skips one."""
    real = Subscription.take

    def take(self: Subscription) -> Any:
        try:
            return real(self)
        except WatchOverflow as error:
            raise WatchOverflow(resume=Revision(error.resume + 1)) from None

    return [(Subscription, "take", take)]


@broken("P6")
def history_begins_one_too_late() -> Sequence[Patch]:
    """A watch that resumes misses its first revision."""
    real = History.page

    async def page(self: History, key_range: KeyRange, *, after: Revision, upto: Revision) -> Any:
        return await real(self, key_range, after=Revision(min(after + 1, upto)), upto=upto)

    return [(History, "page", page)]


@broken("P6", "P5", "P9")
def history_page_splits_a_revision() -> Sequence[Patch]:
    """A page ends in the middle of a transaction."""
    from kinepy.drivers.reading import StatementReads

    real = StatementReads.history

    async def history(self: StatementReads, key_range: KeyRange, *, limit: int, **bounds: Any) -> Any:
        return (await real(self, key_range, limit=limit, **bounds))[:limit]

    return [(StatementReads, "history", history)]


@broken("P6")
def previous_version_forgotten() -> Sequence[Patch]:
    """Events read from the database do not say what the key held before."""

    def forget(history: Any, known: Any) -> Event:
        event = event_of(history, known)
        return Event(event.type, event.kv, None)

    return [(tail_module, "event_of", forget), (watch_module, "event_of", forget)]


@broken("P6")
def seam_between_history_and_live() -> Sequence[Patch]:
    """History is read first and the subscription made afterwards."""
    from kinepy.store.watch import Watch

    def subscribe_when_near(self: Watch) -> None:
        if self._subscription is None and self._position >= self._until:
            self._subscription = self._history.hub.subscribe(self._key_range)

    real = Watch._next_of_history

    async def next_of_history(self: Watch) -> Any:
        batch = await real(self)
        await asyncio.sleep(0.001)
        subscribe_when_near(self)
        return batch

    return [(Watch, "_subscribe_when_near", lambda self: None), (Watch, "_next_of_history", next_of_history)]


@broken("P6", faults=[Fault.LOST_SIGNAL])
def lost_signals_never_made_good() -> Sequence[Patch]:
    """The database is looked at only when it has signalled."""

    async def listen(self: Tail) -> None:
        while not self.closed:
            try:
                if await self._driver.wait_for_append(timeout_s=1.0):
                    self.kick(await self._driver.current())
            except StorageUnavailable:
                await self._clock.sleep(0.1)

    return [(Tail, "listen", listen)]


@broken("P12", "P6")
def epoch_jump_ignored() -> Sequence[Patch]:
    """After a fail-over watches go on as if nothing had been lost."""

    def skip_to(self: Hub, revision: Revision, error: Any) -> None:
        self.revision = revision

    return [(Hub, "skip_to", skip_to)]


# --- compaction and leases


@broken("P7", "P6", "P9")
def compactor_ignores_the_floor() -> Sequence[Patch]:
    """Versions are deleted that a read at the floor can see."""
    real = SimMaintenance.delete_superseded

    async def delete_superseded(
        self: SimMaintenance, key_range: KeyRange, *, after: Revision, upto: Revision, floor: Revision
    ) -> int:
        further = Revision(floor + 3)
        return await real(self, key_range, after=after, upto=Revision(upto + 3), floor=further)

    return [(SimMaintenance, "delete_superseded", delete_superseded)]


@broken("P7")
def rows_deleted_before_the_floor_moves() -> Sequence[Patch]:
    """A crash, or another process, between the two finds history gone that is still promised."""

    async def put_floor(self: SimMaintenance, prefix: bytes, revision: Revision) -> None:
        everything = KeyRange.everything()
        await self.delete_superseded(everything, after=Revision(0), upto=revision, floor=revision)
        await asyncio.sleep(5.0)

    return [(SimMaintenance, "put_floor", put_floor)]


@broken("P8")
def lease_ended_without_looking_again() -> Sequence[Patch]:
    """A lease that was kept alive in the meantime is ended all the same."""

    def evaluate(self: EndLease, draft: Draft) -> Revision:
        revision = Revision(draft.revision + 1)
        for sub, key in enumerate(draft.keys_of_lease(self.lease)):
            draft.delete(key, revision=revision, sub=sub, actor=None)
        draft.end_lease(self.lease)
        return draft.revision

    return [(EndLease, "evaluate", evaluate)]


@broken("P8")
def lease_keys_die_one_by_one() -> Sequence[Patch]:
    """Each key of a lease takes a revision of its own."""

    def evaluate(self: EndLease, draft: Draft) -> Revision:
        for key in draft.keys_of_lease(self.lease):
            draft.delete(key, revision=Revision(draft.revision + 1), actor=None)
        draft.end_lease(self.lease)
        return draft.revision

    return [(EndLease, "evaluate", evaluate)]


@broken("P8")
def lease_not_checked_at_a_put() -> Sequence[Patch]:
    """A key is attached to a lease that is gone, and outlives it."""
    return [(Draft, "check_lease", lambda self, lease: None)]
