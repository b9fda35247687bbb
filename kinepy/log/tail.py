"""The tail: one per process, applies revisions in order.

Own commits arrive from memory, others' by wake-up and SQL. Within an epoch revisions are dense, so a
hole is never waited out or jumped: the missing revisions are read. When they are gone (compacted away,
or a new epoch began) the local state is read anew and live watches end with `Compacted`.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Protocol

from kinepy.clock import Clock
from kinepy.drivers.base import Driver, Head, HistoryRow, ReadTransaction
from kinepy.errors import KinepyError, StorageCorrupt, StorageUnavailable, StoreClosed
from kinepy.keys import KeyRange
from kinepy.log.continuity import Continuity
from kinepy.log.floors import Floors, read_floors
from kinepy.log.hub import Hub
from kinepy.log.metrics import StoreMetrics
from kinepy.log.pages import PageSize
from kinepy.log.rows import event_of
from kinepy.records import Event, KeyValue
from kinepy.revision import FIRST_REVISION, Revision
from kinepy.settings import Settings

log = logging.getLogger("kinepy")

BACKOFF_FIRST_S = 0.05
OWN_COMMITS_WAITING_MAX = 64
INDEX_CHECK_INTERVAL_S = 60.0


class State(Protocol):
    """The local state that follows the log."""

    @property
    def revision(self) -> Revision:
        """The revision that has been applied."""
        ...

    def peek(self, key: bytes) -> KeyValue | None:
        """What is in memory of a live key's newest version."""
        ...

    def apply(self, events: Sequence[Event], revision: Revision) -> None:
        """Apply the whole revisions that follow the applied one, up to `revision`."""
        ...

    @property
    def complete(self) -> bool:
        """Whether every live key is in memory."""
        ...

    async def read_index(self, tx: ReadTransaction) -> Sequence[Head] | None:
        """All live keys of a snapshot; None when memory has no room for them."""
        ...

    def complete_with(self, heads: Sequence[Head], revision: Revision) -> None:
        """Take the index up again: live keys of an applied revision."""
        ...

    async def reload(self, tx: ReadTransaction) -> None:
        """Start anew from a snapshot, in one step at its end."""
        ...


def is_dense(rows: Sequence[HistoryRow], *, after: Revision, upto: Revision, cut: bool) -> bool:
    """Whether rows tell everything that happened after one revision, up to another unless `cut` short."""
    revision = after
    for row, before in rows:
        if row.revision > revision + 1 or (before is None and row.prev_revision):
            return False
        revision = row.revision
    return cut or revision == upto


class Tail:
    """Brings the local state up to the database's, then the hub's watchers."""

    def __init__(
        self,
        driver: Driver,
        state: State,
        hub: Hub,
        *,
        continuity: Continuity,
        settings: Settings,
        clock: Clock,
        metrics: StoreMetrics,
    ) -> None:
        self._driver, self._state, self._hub = driver, state, hub
        self.continuity = continuity
        self._settings, self._clock, self._metrics = settings, clock, metrics
        self._pages = PageSize(rows_max=settings.page_rows_max)
        self.floors = Floors({})
        self._floors_seen = clock.monotonic()
        self._target = Revision(0)
        self._expected: tuple[Revision, Revision] | None = None
        self._own: deque[tuple[Revision, Revision, Sequence[Event]]] = deque()
        self._kicked = asyncio.Event()
        self._waiters: list[tuple[Revision, int, asyncio.Future[None]]] = []
        self._order = count()
        self.closed = False

    @property
    def applied(self) -> Revision:
        """The revision that this process has applied."""
        return self._state.revision

    # --- starting

    async def load(self) -> None:
        """Read the state at the newest revision; done once, before anything else."""
        async with self._driver.read() as tx:
            await self._reload(tx)
        self._hub.revision = self._state.revision

    async def _reload(self, tx: ReadTransaction) -> None:
        floors = await read_floors(tx)
        await self._state.reload(tx)
        self.continuity.saw(self._state.revision)
        self.floors = floors
        self._target = max(self._target, self._state.revision)
        self._wake_waiters()

    async def keep_index(self) -> None:
        """Take up the index of keys again, when it was given up and they have become fewer. Runs until cancelled."""
        while True:
            await self._clock.sleep(INDEX_CHECK_INTERVAL_S)
            try:
                await self.complete_index()
            except KinepyError as error:
                self._metrics.failed("index")
                log.warning("index: %s", error)

    async def complete_index(self) -> None:
        """Read all live keys, if memory has room for them and lacks them."""
        if self._state.complete:
            return
        async with self._driver.read() as tx:
            revision, heads = await tx.current(), await self._state.read_index(tx)
        if heads is not None:
            self.kick(revision)
            await self.wait_applied(revision)
            self._state.complete_with(heads, revision)

    # --- own commits

    def expect(self, first: Revision, last: Revision) -> None:
        """Own revisions are about to be committed: no need to read them."""
        self._expected = first, last

    def commit_ended(self) -> None:
        """What was expected has been told, or was not committed."""
        self._expected = None
        if self._target > self.applied:
            self._kicked.set()

    def committed(self, first: Revision, last: Revision, events: Sequence[Event]) -> None:
        """Apply own revisions, when those before them have been applied, or else as soon as they have."""
        if first == self.applied + 1:
            self._publish(events, last)
        elif first > self.applied:
            # When too many wait, the database tells them again.
            if len(self._own) < OWN_COMMITS_WAITING_MAX:
                self._own.append((first, last, events))
            self.kick(last)

    def _publish(self, events: Sequence[Event], revision: Revision) -> None:
        assert events[0].revision == self.applied + 1, (events[0].revision, self.applied)
        self.continuity.saw(revision)
        self._state.apply(events, revision)
        self._hub.publish(events, revision)
        self._target = max(self._target, revision)
        self._metrics.tail_lag = self._target - revision
        if self._waiters:
            self._wake_waiters()

    def _publish_own(self) -> None:
        while self._own and self._own[0][0] <= self.applied + 1:
            first, last, events = self._own.popleft()
            if first == self.applied + 1:
                self._publish(events, last)

    # --- waiting

    def _wake_waiters(self) -> None:
        while self._waiters and self._waiters[0][0] <= self.applied:
            _, _, waiter = heappop(self._waiters)
            if not waiter.done():
                waiter.set_result(None)

    def kick(self, target: Revision) -> None:
        """The database is known to have reached `target`."""
        if target > self._target:
            self._target = target
        if self._target > self.applied:
            self._metrics.tail_lag = self._target - self.applied
            self._kicked.set()

    async def wait_applied(self, revision: Revision) -> None:
        """Return when `revision` has been applied."""
        if revision <= self.applied:
            return
        if self.closed:
            raise StoreClosed
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (revision, next(self._order), waiter)
        heappush(self._waiters, entry)
        try:
            await waiter
        except asyncio.CancelledError:
            # The revision may never come: whoever gave up is not to be kept until then.
            if entry in self._waiters:
                self._waiters.remove(entry)
                heapify(self._waiters)
            raise

    # --- others' commits

    async def listen(self) -> None:
        """Look at the database whenever it says that others may have committed, and now and then anyway."""
        backoff = BACKOFF_FIRST_S
        while not self.closed:
            try:
                signalled = await self._driver.wait_for_append(
                    timeout_s=self._settings.poll_interval_notified_s
                )
                current = await self.continuity.current()
                self.kick(current)
                # A signal without anything new may tell of a floor that moved.
                if not signalled or current <= self.applied or self._floors_are_old():
                    await self.look_at_floors()
                backoff = BACKOFF_FIRST_S
            except KinepyError as error:
                backoff = await self._pause("listen", error, backoff)

    async def follow(self) -> None:
        """Apply what the database is known to have, until closed."""
        backoff = BACKOFF_FIRST_S
        while not self.closed:
            await self._kicked.wait()
            self._kicked.clear()
            try:
                await self._catch_up()
                backoff = BACKOFF_FIRST_S
            except KinepyError as error:
                backoff = await self._pause("tail", error, backoff)
                self._kicked.set()

    async def _pause(self, operation: str, error: KinepyError, backoff: float) -> float:
        """The database failed: watches stay open, nothing is skipped, try again later."""
        self._metrics.failed(operation)
        if not self.closed:
            log.warning("%s: %s", operation, error)
            await self._clock.sleep(backoff)
        return min(backoff * 2, self._settings.reconnect_backoff_max_s)

    def _floors_are_old(self) -> bool:
        return self._clock.monotonic() - self._floors_seen >= self._settings.poll_interval_notified_s

    async def look_at_floors(self) -> Floors:
        """Learn of floors that moved, by whatever process."""
        self._floors_seen = self._clock.monotonic()
        async with self._driver.read() as tx:
            floors = await read_floors(tx)
        # A look that began earlier may end later; floors never fall.
        if floors.supersedes(self.floors):
            self.floors = floors
        return floors

    async def _catch_up(self) -> None:
        while self.applied < self._target and not self.closed:
            expected = self._expected
            if expected is not None and expected[0] == self.applied + 1:
                # Being committed by this process: they arrive from memory when that has ended.
                return
            self._publish_own()
            await self._read_page()
            self._publish_own()

    async def _read_page(self) -> None:
        """Read and apply one page of revisions that others committed."""
        after, limit = self.applied, self._pages.rows
        async with self._driver.read() as tx:
            upto = await tx.current()
            if upto < after:
                # The listener sees it too, and has the store begin a new epoch.
                raise StorageUnavailable(f"it stands at revision {upto}, but has been at {after}")
            if self._own:
                upto = min(upto, Revision(self._own[0][0] - 1))
            # Below the floor a revision may have lost some of its rows, which nothing else tells.
            floor = max((await tx.floors()).values(), default=FIRST_REVISION)
            rows = await tx.history(KeyRange.everything(), after=after, upto=upto, limit=limit)
            if after + 1 < floor or not is_dense(rows, after=after, upto=upto, cut=len(rows) >= limit):
                await self._resync(tx, after)
                return
        self._pages.saw(len(rows), sum(len(entry.row.value or b"") for entry in rows))
        self._apply_rows(rows)

    def _apply_rows(self, rows: Sequence[HistoryRow]) -> None:
        """Apply rows that follow each other, leaving out what has been applied meanwhile."""
        applied, state = self.applied, self._state
        newest: dict[bytes, KeyValue | None] = {}
        events: list[Event] = []
        for history in rows:
            row = history.row
            if row.revision <= applied:
                continue
            known = newest[row.key] if row.key in newest else state.peek(row.key)
            event = event_of(history, known)
            newest[row.key] = None if row.value is None else event.kv
            events.append(event)
        if events:
            self._publish(events, events[-1].revision)

    async def _resync(self, tx: ReadTransaction, after: Revision) -> None:
        """Revisions after the applied one are gone: start anew and tell the watchers."""
        self._metrics.resyncs += 1
        epoch = self.floors.epoch
        await self._reload(tx)
        error = None
        if self.floors.epoch == epoch and after + 1 >= self.floors.highest:
            error = StorageCorrupt(f"the log has a hole after revision {after}")
            log.error("%s", error)
        self._hub.skip_to(self._state.revision, self.floors, error=error)

    def close(self) -> None:
        """Stop following; whoever waits for a revision gets `StoreClosed`."""
        self.closed = True
        self._kicked.set()
        for _, _, waiter in self._waiters:
            if not waiter.done():
                waiter.set_exception(StoreClosed())
        self._waiters.clear()
