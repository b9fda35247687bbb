"""The local state that follows the log: cache and ring, always at the same revision."""

from collections.abc import Sequence

from kinepy.drivers.base import Head, ReadTransaction
from kinepy.keys import KeyRange
from kinepy.records import Event, KeyValue
from kinepy.revision import Revision
from kinepy.settings import Settings
from kinepy.store.cache import Cache
from kinepy.store.ring import Ring


class LocalState:
    """What the tail applies revisions to."""

    __slots__ = ("cache", "ring")

    def __init__(self, settings: Settings) -> None:
        self.cache = Cache(settings)
        self.ring = Ring(settings)

    @property
    def revision(self) -> Revision:
        """The revision that has been applied."""
        return self.cache.revision

    def peek(self, key: bytes) -> KeyValue | None:
        """What is in memory of a live key's newest version."""
        return self.cache.peek(key)

    def apply(self, events: Sequence[Event], revision: Revision) -> None:
        """Apply the whole revisions that follow the applied one, up to `revision`."""
        self.cache.apply(events, revision)
        self.ring.append(events)

    @property
    def complete(self) -> bool:
        """Whether every live key is in memory."""
        return self.cache.complete

    async def read_index(self, tx: ReadTransaction) -> Sequence[Head] | None:
        """All live keys of a snapshot; None when memory has no room for them."""
        if not self.cache.fits(await tx.count_at(KeyRange.everything(), at=None)):
            return None
        return await self.cache.read_heads(tx)

    def complete_with(self, heads: Sequence[Head], revision: Revision) -> None:
        """Take the index up again: live keys of an applied revision. Does nothing when too much has happened since."""
        if not self.ring.covers(revision):
            return
        applied = self.cache.revision
        since, _ = self.ring.page(KeyRange.everything(), after=revision, limit=len(self.ring))
        self.cache.fill_index(heads, revision)
        self.cache.apply(since, applied)

    async def reload(self, tx: ReadTransaction) -> None:
        """Start anew from a snapshot."""
        await self.cache.reload(tx)
        self.ring.reset(self.cache.revision)
