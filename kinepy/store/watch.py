"""Watching: history first, from the ring or else from SQL in bounded pages, then live, without a seam.

A watcher that is far behind reads history without holding a queue. When it comes near, it subscribes,
reads the rest up to the subscription point, and goes on with what was queued since.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Self

from kinepy.drivers.base import Driver
from kinepy.errors import Compacted, StorageUnavailable, StoreClosed
from kinepy.keys import KeyRange
from kinepy.log.floors import read_floors
from kinepy.log.hub import Hub, Subscription
from kinepy.log.pages import PageSize, size_of
from kinepy.log.rows import event_of
from kinepy.log.tail import Tail
from kinepy.records import Event, WatchBatch
from kinepy.revision import Revision
from kinepy.settings import Settings
from kinepy.store.state import LocalState


class History:
    """Past events: what a watch reads before it is live."""

    __slots__ = ("_driver", "_state", "_tail", "hub", "page_rows_max")

    def __init__(
        self, driver: Driver, state: LocalState, tail: Tail, *, hub: Hub, settings: Settings
    ) -> None:
        self._driver, self._state, self._tail, self.hub = driver, state, tail, hub
        self.page_rows_max = settings.page_rows_max

    async def page(
        self, key_range: KeyRange, *, after: Revision, upto: Revision, pages: PageSize
    ) -> tuple[Sequence[Event], Revision]:
        """Matching events of the next revisions, and the revision that they reach (`upto` or before).

        Raises `Compacted` when the first of these revisions cannot be told any more.
        """
        first = Revision(after + 1)
        self._tail.floors.check(key_range, first)
        ring = self._state.ring
        if ring.covers(after):
            events, reached = ring.page(key_range, after=after, limit=self.page_rows_max)
            if reached is None:
                # The ring reaches beyond `upto` when more was published since.
                reached = self.hub.revision
            if reached > upto:
                events, reached = [event for event in events if event.revision <= upto], upto
            return events, reached
        return await self._read(key_range, after=after, upto=upto, pages=pages)

    async def _read(
        self, key_range: KeyRange, *, after: Revision, upto: Revision, pages: PageSize
    ) -> tuple[Sequence[Event], Revision]:
        limit = pages.rows
        async with self._driver.read() as tx:
            # The compactor may have moved the floor, and deleted, since we looked at our copy.
            (await read_floors(tx)).check(key_range, Revision(after + 1))
            if (current := await tx.current()) < upto:
                raise StorageUnavailable(f"it stands at revision {current}, but has been at {upto}")
            rows = await tx.history(key_range, after=after, upto=upto, limit=limit)
        cached = self._state.cache
        events = []
        for history in rows:
            event = event_of(history, None)
            event.kv = cached.known(event.kv)
            events.append(event)
        pages.saw(len(events), size_of(events))
        return events, events[-1].revision if len(rows) >= limit else upto


class Watch:
    """One open watch: an async iterator of `WatchBatch` and an async context manager.

    Iterating yields all that is pending at once, merged into one batch of whole revisions. It raises
    `WatchOverflow` when the watcher was too slow, `Compacted` when history it still needs is gone,
    `StoreClosed` when the store closes; nothing follows an error. Closing ends the iteration.
    """

    __slots__ = (
        "_closed", "_error", "_history", "_key_range", "_pages", "_position", "_subscription", "_until",
    )  # fmt: skip

    def __init__(self, history: History, key_range: KeyRange, *, start: Revision | None) -> None:
        self._history, self._key_range = history, key_range
        self._closed = False
        self._error: Exception | None = None
        self._subscription: Subscription | None = None
        self._pages: PageSize | None = None
        hub = history.hub
        # Everything matching up to the position has been yielded; history is read up to `until`.
        self._position = self._until = hub.revision
        if start is not None and start <= hub.revision:
            self._position = Revision(start - 1)
            self._subscribe_when_near()
        else:
            self._subscription = hub.subscribe(key_range, start=start)

    def _subscribe_when_near(self) -> None:
        hub = self._history.hub
        if self._subscription is None:
            self._until = hub.revision
            if self._until - self._position <= self._history.page_rows_max:
                self._subscription = hub.subscribe(self._key_range)

    @property
    def progress(self) -> Revision:
        """Everything matching up to this revision has been *yielded*. Never ahead of undelivered events; on an idle
        watch it follows the store's applied revision."""
        if self._position < self._until or self._subscription is None:
            return self._position
        return self._subscription.progress

    def __aiter__(self) -> AsyncIterator[WatchBatch]:
        return self

    async def __anext__(self) -> WatchBatch:
        """The next events; waits until there are some."""
        batch = await self.next()
        if batch is None:
            raise StopAsyncIteration
        return batch

    async def next(self, *, timeout_s: float | None = None) -> WatchBatch | None:
        """As iterating, but None after `timeout_s` without events. `timeout_s=0` takes only what is pending.

        None without a timeout says that the watch was closed. `StorageUnavailable`, which only reading of
        history raises, ends nothing: calling again goes on where it was.
        """
        if self._closed:
            return None
        if self._error is not None:
            raise self._error
        try:
            return await self._next(timeout_s)
        except (Compacted, StoreClosed) as error:
            self._fail(error)
            raise

    def _fail(self, error: Exception) -> None:
        self._error = error
        if self._subscription is not None:
            self._subscription.close()

    async def _next(self, timeout_s: float | None) -> WatchBatch | None:
        while self._subscription is None or self._position < self._until:
            batch = await self._next_of_history()
            if batch is not None:
                return batch
            if self._closed:
                return None
        subscription = self._subscription
        batch = subscription.take()
        if batch is None and timeout_s != 0:
            await subscription.wait(timeout_s)
            batch = None if self._closed else subscription.take()
        return batch

    async def _next_of_history(self) -> WatchBatch | None:
        self._subscribe_when_near()
        history, pages = self._history, self._pages
        if pages is None:
            pages = self._pages = PageSize(rows_max=history.page_rows_max)
        events, reached = await history.page(
            self._key_range, after=self._position, upto=self._until, pages=pages
        )
        self._position = reached
        subscription = self._subscription
        if subscription is not None and reached >= self._until and subscription.is_pending:
            return _merged(events, subscription.take())
        return WatchBatch(reached, events) if events else None

    async def aclose(self) -> None:
        """End the watch. Closing twice is fine."""
        self._closed = True
        if self._subscription is not None:
            self._subscription.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _merged(events: Sequence[Event], live: WatchBatch | None) -> WatchBatch:
    """The end of history and what was published since, as one batch."""
    assert live is not None
    return WatchBatch(live.progress, [*events, *live.events]) if events else live
