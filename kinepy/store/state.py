"""The local state that follows the log: cache and ring, always at the same revision."""

from collections.abc import Sequence

from kinepy.drivers.base import ReadTransaction
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

    async def reload(self, tx: ReadTransaction) -> None:
        """Start anew from a snapshot."""
        await self.cache.reload(tx)
        self.ring.reset(self.cache.revision)
