"""What every user of optimistic concurrency and of watches writes otherwise."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random, SystemRandom
from typing import Self

from kinepy.clock import Clock, SystemClock
from kinepy.errors import (
    Compacted,
    KeyExists,
    KeyNotFound,
    KinepyError,
    RevisionConflict,
    RevisionInFuture,
    StorageUnavailable,
    WatchOverflow,
)
from kinepy.keys import KeyRange
from kinepy.records import Event, EventType, KeyValue, WatchBatch
from kinepy.revision import Revision
from kinepy.store import Store, Watch

ATTEMPTS_MAX = 10
BACKOFF_FIRST_S = 0.01
BACKOFF_MAX_S = 1.0
CHANGES_MAX = 10_000


async def retry_on_conflict(
    store: Store,
    key: bytes,
    change: Callable[[KeyValue | None], bytes | None],
    *,
    attempts_max: int = ATTEMPTS_MAX,
    actor: str | None = None,
) -> KeyValue | None:
    """Change a key by what it holds, again with what it holds now when another writer was first.

    `change` gets the stored version (None when there is none) and returns the value to write, or None to
    leave the key alone; it may be called several times. The key's lease is kept. Callers of one process take
    turns at a key, so that they do not lose against each other; between attempts that were lost against others
    there are random waits. Returns the version that the key then holds; raises the last conflict after
    `attempts_max` attempts.
    """
    if attempts_max < 1:
        raise ValueError(f"attempts_max is {attempts_max}: at least one attempt is needed")
    writer = _Writer(store, key, change, actor)
    async with store.turns.take(key) as turn:
        # What was written by those before in line is known here.
        newest = not turn.waited
        for _ in range(attempts_max - 1):
            try:
                return await writer.attempt(newest=newest)
            except (KeyExists, RevisionConflict) as error:
                await turn.lost(error.current.mod_revision)
            except KeyNotFound as error:
                await turn.lost(error.revision)
            newest = True
        return await writer.attempt(newest=True)


@dataclass(frozen=True, slots=True)
class _Writer:
    """One caller of `retry_on_conflict`."""

    store: Store
    key: bytes
    change: Callable[[KeyValue | None], bytes | None]
    actor: str | None

    async def attempt(self, *, newest: bool) -> KeyValue | None:
        """Read, change, write. Raises the conflict. A change that writes nothing counts for the newest version only."""
        store, key = self.store, self.key
        current = await store.get(key, consistent=newest)
        try:
            value = self.change(current)
        except Exception:
            if newest or _same(current, await store.get(key)):
                raise
            return await self.attempt(newest=True)
        if value is None:
            if newest or _same(current, await store.get(key)):
                return current
            return await self.attempt(newest=True)
        if current is None:
            return await store.create(key, value, actor=self.actor)
        expect, lease = current.mod_revision, current.lease
        return await store.update(key, value, expect=expect, lease=lease, actor=self.actor)


def _same(known: KeyValue | None, newest: KeyValue | None) -> bool:
    if known is None or newest is None:
        return known is newest
    return known.mod_revision == newest.mod_revision


def _backoff_s(attempt: int, random: Random) -> float:
    """A random wait below a bound that doubles with each attempt."""
    return random.uniform(0, min(BACKOFF_FIRST_S * 2**attempt, BACKOFF_MAX_S))


class _Changes:
    """One reader's queue of changes."""

    __slots__ = ("events", "lost_after", "wake")

    def __init__(self) -> None:
        self.events: deque[Event] = deque()
        self.wake = asyncio.Event()
        self.lost_after: Revision | None = None

    def offer(self, event: Event) -> None:
        if self.lost_after is None and len(self.events) >= CHANGES_MAX:
            self.lost_after = self.events[-1].revision
        if self.lost_after is None:
            self.events.append(event)
        self.wake.set()


class Mirror(Mapping[bytes, KeyValue]):
    """A range of the store as a dictionary that follows it: list, then watch.

        async with Mirror(store, KeyRange.prefix(b"/jobs/")) as jobs:
            await jobs.wait_for(revision)
            print(jobs[b"/jobs/1"].value)

    Filled when the block is entered. It always holds the range's state at some revision, `revision`,
    which only rises. It resumes by itself; when the history it needs was compacted away it lists anew,
    and tells the difference as changes. An error that it cannot get over is raised by `wait_for` and
    `changes`, and kept in `error`.
    """

    def __init__(
        self,
        store: Store,
        key_range: KeyRange,
        *,
        on_change: Callable[[Event], None] | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        self.error: KinepyError | None = None
        self._store, self._key_range, self._on_change = store, key_range, on_change
        self._clock, self._random = clock or SystemClock(), random or SystemRandom()
        self._items: dict[bytes, KeyValue] = {}
        self._revision = Revision(0)
        self._watch: Watch | None = None
        self._task: asyncio.Task[None] | None = None
        self._readers: list[_Changes] = []
        self._waiters: list[asyncio.Future[None]] = []

    # --- as a dictionary

    def __getitem__(self, key: bytes) -> KeyValue:
        return self._items[key]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    @property
    def revision(self) -> Revision:
        """The revision whose state the mirror holds."""
        return self._revision if self._watch is None else max(self._revision, self._watch.progress)

    # --- following

    async def __aenter__(self) -> Self:
        listed = await self._store.range(self._key_range)
        self._items = {item.key: item for item in listed.items}
        self._revision = listed.revision
        self._task = asyncio.create_task(self._follow(), name="kinepy mirror")
        return self

    async def __aexit__(self, *_: object) -> None:
        task = self._task
        assert task is not None
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error

    async def _follow(self) -> None:
        attempt = 0
        while True:
            try:
                await self._follow_once()
                attempt = 0
            except StorageUnavailable:
                await self._clock.sleep(_backoff_s(attempt, self._random))
                attempt += 1
            except KinepyError as error:
                self._give_up(error)
                return

    async def _follow_once(self) -> None:
        try:
            await self._watch_once()
        except WatchOverflow:
            # Nothing was lost: what follows is still in the log.
            return
        except Compacted:
            await self._list_anew()

    async def _watch_once(self) -> None:
        start = Revision(self._revision + 1)
        async with self._store.watch(self._key_range, start=start) as watch:
            self._watch = watch
            try:
                async for batch in watch:
                    self._apply(batch)
            finally:
                self._revision = self.revision
                self._watch = None

    async def _list_anew(self) -> None:
        listed = await self._store.range(self._key_range)
        before, self._items = self._items, {item.key: item for item in listed.items}
        self._revision = listed.revision
        for key, record in before.items():
            if key not in self._items:
                gone = KeyValue(key, b"", Revision(0), listed.revision, 0)
                self._tell(Event(EventType.DELETE, gone, record))
        for record in listed.items:
            previous = before.get(record.key)
            if previous is None or previous.mod_revision != record.mod_revision:
                self._tell(Event(EventType.PUT, record, previous))
        self._wake()

    def _apply(self, batch: WatchBatch) -> None:
        for event in batch.events:
            if event.type is EventType.PUT:
                self._items[event.kv.key] = event.kv
            else:
                self._items.pop(event.kv.key, None)
            self._tell(event)
        self._revision = batch.progress
        self._wake()

    def _tell(self, event: Event) -> None:
        if self._on_change is not None:
            self._on_change(event)
        for reader in self._readers:
            reader.offer(event)

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _give_up(self, error: KinepyError) -> None:
        self.error = error
        for reader in self._readers:
            reader.wake.set()
        self._wake()

    # --- for those who wait

    async def wait_for(self, revision: Revision, *, timeout_s: float = 10.0) -> Revision:
        """Wait until the mirror holds a state at or after `revision`; returns which.

        Raises `RevisionInFuture` when that took longer than `timeout_s`.
        """
        try:
            async with asyncio.timeout(timeout_s):
                await self._store.wait_for(revision, timeout_s=timeout_s)
                while self.revision < revision:
                    if self.error is not None:
                        raise self.error
                    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                    self._waiters.append(waiter)
                    try:
                        await waiter
                    finally:
                        if waiter in self._waiters:
                            self._waiters.remove(waiter)
        except TimeoutError:
            raise RevisionInFuture(requested=revision, current=self.revision) from None
        return self.revision

    async def changes(self) -> AsyncIterator[Event]:
        """Every change of the mirror from now on. Raises `WatchOverflow` to a reader that is too slow."""
        reader = _Changes()
        self._readers.append(reader)
        try:
            while True:
                while reader.events:
                    yield reader.events.popleft()
                if reader.lost_after is not None:
                    raise WatchOverflow(resume=Revision(reader.lost_after + 1))
                if self.error is not None:
                    raise self.error
                reader.wake.clear()
                await reader.wake.wait()
        finally:
            self._readers.remove(reader)
