"""What controllers see of the store: everything there is, then every change of it."""

from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Self

from kinepy import Event, KeyRange, KeyValue, Revision, Store, Watch
from kinepy.errors import WatchOverflow
from kinepy_server.paging import every_page


class Feed:
    """Follows a range. Opens with the block; changes from then on are kept until they are asked for.

    Read `existing` to its end first, then `changes`. Changes that happen while existing objects are read
    come again, so that for a short while an object seems older than it was seen before; the last word on
    every key is the newest. Raises `Compacted` to one that is so slow that history it needs is gone, and
    must begin anew.
    """

    def __init__(self, store: Store, key_range: KeyRange) -> None:
        self._store, self._key_range = store, key_range
        self._watch: Watch

    async def __aenter__(self) -> Self:
        self._watch = self._store.watch(self._key_range)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._watch.aclose()

    def existing(self, *, keys_only: bool = False) -> AsyncIterator[Sequence[KeyValue]]:
        """What there is, in key order, page by page."""
        return every_page(self._store, self._key_range, keys_only=keys_only)

    async def changes(self, *, timeout_s: float | None = None) -> Sequence[Event]:
        """The next changes, in order; none after `timeout_s`."""
        try:
            batch = await self._watch.next(timeout_s=timeout_s)
        except WatchOverflow as overflow:
            # Nothing is lost: what follows is still in the log.
            await self._reopen(overflow.resume)
            return ()
        return batch.events if batch is not None else ()

    async def _reopen(self, start: Revision) -> None:
        await self._watch.aclose()
        self._watch = self._store.watch(self._key_range, start=start)
