"""Broken on purpose: reads, the tail, watches."""

import asyncio
from collections.abc import Sequence
from typing import Any

from kinepy.errors import StorageUnavailable, WatchOverflow
from kinepy.keys import KeyRange
from kinepy.log import tail as tail_module
from kinepy.log.barrier import Barrier
from kinepy.log.hub import Group, Hub, Subscription
from kinepy.log.pages import PageSize
from kinepy.log.rows import event_of
from kinepy.log.tail import Tail
from kinepy.records import Event
from kinepy.revision import Revision
from kinepy.store import watch as watch_module
from kinepy.store.reads import Reads
from kinepy.store.ring import Ring
from kinepy.store.watch import History
from tests.simulation.broken import Patch, broken
from tests.simulation.faults import Fault

# --- reading


@broken("P5")
def stale_read() -> Sequence[Patch]:
    """A read answers from memory without asking the database."""

    async def catch_up(self: Reads) -> Revision:
        return self._cache.revision

    return [(Reads, "catch_up", catch_up)]


@broken(
    "P5",
    faults=[Fault.SLOW_NODE, Fault.LOST_SIGNAL],
    length=4,
    write_queue_max=100,
    retention=(),
    index_bytes_max=100_000,
    batch_writes_max=1,
)
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


@broken(
    "P5",
    "P7",
    faults=[Fault.LOST_SIGNAL, Fault.SLOW_NODE],
    length=4,
    ring_bytes_max=0,
    index_bytes_max=400,
    write_queue_max=100,
    retention=(),
    compaction_batch_rows=1000,
    compaction_keep_s=0.0,
    compaction_keep_changes=0,
)
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

    async def page(
        self: History, key_range: KeyRange, *, after: Revision, upto: Revision, pages: PageSize
    ) -> Any:
        return await real(self, key_range, after=Revision(min(after + 1, upto)), upto=upto, pages=pages)

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


@broken("P6", "P11", faults=[Fault.LOST_SIGNAL])
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

    def skip_to(self: Hub, revision: Revision, floors: Any, *, error: Any = None) -> None:
        self.revision = revision

    return [(Hub, "skip_to", skip_to)]
