"""Compaction floors: for the whole store, and for prefixes that have one of their own."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence

from kinepy.drivers.base import EpochRow, ReadTransaction
from kinepy.errors import Compacted
from kinepy.keys import KeyRange, prefix_end
from kinepy.revision import FIRST_REVISION, Revision


class Floors:
    """The oldest readable revision of each part of the store. An immutable value.

    A key's floor is that of the longest prefix that has one; the store's own floor is for all other keys. So history
    may be kept longer than elsewhere, or less long. No key's floor ever falls: a prefix begins with the one it had.
    """

    __slots__ = ("_cuts", "by_prefix", "epoch", "highest", "store")

    def __init__(self, by_prefix: Mapping[bytes, Revision], epoch: EpochRow | None = None) -> None:
        self.epoch = 1 if epoch is None else epoch.number
        # Revisions before a later epoch's base may mean something else to the clients that saw them.
        base = epoch.base_revision if epoch is not None and epoch.number > 1 else FIRST_REVISION
        self.store = max(by_prefix.get(b"", FIRST_REVISION), base)
        self.by_prefix = {prefix: max(floor, base) for prefix, floor in by_prefix.items() if prefix}
        self.highest = max([self.store, *self.by_prefix.values()])
        """The oldest revision at which everything can be read."""
        self._cuts: tuple[Sequence[bytes], Sequence[Revision]] | None = None

    def of(self, key_range: KeyRange) -> Revision:
        """The oldest revision at which the whole range can be read."""
        if not self.by_prefix:
            return self.store
        starts, floors = self._cut()
        first = bisect_right(starts, key_range.start) - 1
        last = len(starts) if key_range.end is None else bisect_left(starts, key_range.end)
        return max(floors[first : max(last, first + 1)])

    def _cut(self) -> tuple[Sequence[bytes], Sequence[Revision]]:
        """Where the keys' floors change, and to what. Worked out when it is asked for first."""
        if self._cuts is None:
            ends = filter(None, map(prefix_end, self.by_prefix))
            starts = sorted({b"", *self.by_prefix, *ends})
            self._cuts = starts, list(map(self.of_prefix, starts))
        return self._cuts

    def of_prefix(self, prefix: bytes) -> Revision:
        """The floor of a prefix's own keys: those that no longer prefix has."""
        longest = max((known for known in self.by_prefix if prefix.startswith(known)), key=len, default=b"")
        return self.by_prefix.get(longest, self.store)

    def check(self, key_range: KeyRange, revision: Revision) -> None:
        """Raise `Compacted` when the range cannot be read at `revision`."""
        floor = self.of(key_range)
        if revision < floor:
            raise Compacted(requested=revision, compacted=floor)

    def supersedes(self, other: "Floors") -> bool:
        """Whether these are not older than others, floor by floor."""
        return self.store >= other.store and all(
            self.by_prefix.get(prefix, self.store) >= floor for prefix, floor in other.by_prefix.items()
        )


async def read_floors(tx: ReadTransaction) -> Floors:
    """The floors of a snapshot."""
    epochs = await tx.epochs()
    return Floors(await tx.floors(), epochs[-1] if epochs else None)
