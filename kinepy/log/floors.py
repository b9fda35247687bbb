"""Compaction floors: for the whole store, and for prefixes that have one of their own."""

from collections.abc import Mapping

from kinepy.drivers.base import EpochRow, ReadTransaction
from kinepy.errors import Compacted
from kinepy.keys import KeyRange
from kinepy.revision import FIRST_REVISION, Revision


def overlap(left: KeyRange, right: KeyRange) -> bool:
    """Whether some key can be in both ranges."""
    starts_before_right_ends = right.end is None or left.start < right.end
    return starts_before_right_ends and (left.end is None or right.start < left.end)


def within(inner: KeyRange, outer: KeyRange) -> bool:
    """Whether every key of one range is in the other."""
    ends_before_outer = outer.end is None or (inner.end is not None and inner.end <= outer.end)
    return inner.start >= outer.start and ends_before_outer


class Floors:
    """The oldest readable revision of each part of the store. An immutable value.

    A key's floor is that of the longest prefix that has one; the store's own floor is for all other keys. So history
    may be kept longer than elsewhere, or less long. No key's floor ever falls: a prefix begins with the one it had.
    """

    __slots__ = ("_ranges", "by_prefix", "epoch", "highest", "store")

    def __init__(self, by_prefix: Mapping[bytes, Revision], epoch: EpochRow | None = None) -> None:
        self.epoch = 1 if epoch is None else epoch.number
        # Revisions before a later epoch's base may mean something else to the clients that saw them.
        base = epoch.base_revision if epoch is not None and epoch.number > 1 else FIRST_REVISION
        self.store = max(by_prefix.get(b"", FIRST_REVISION), base)
        self.by_prefix = {prefix: max(floor, base) for prefix, floor in by_prefix.items() if prefix}
        self._ranges = [
            (prefix, KeyRange.prefix(prefix), floor) for prefix, floor in sorted(self.by_prefix.items())
        ]
        self.highest = max([self.store, *self.by_prefix.values()])
        """The oldest revision at which everything can be read."""

    def of(self, key_range: KeyRange) -> Revision:
        """The oldest revision at which the whole range can be read."""
        floor, around = self.store, b""
        # Shorter prefixes come first: one that holds the whole range has the say from then on.
        for prefix, its_range, revision in self._ranges:
            if within(key_range, its_range):
                floor, around = revision, prefix
            elif revision > floor and prefix.startswith(around) and overlap(key_range, its_range):
                floor = revision
        return floor

    def of_prefix(self, prefix: bytes) -> Revision:
        """The floor of a prefix's own keys: those that no longer prefix has."""
        longest = max((known for known in self.by_prefix if prefix.startswith(known)), key=len, default=b"")
        return self.by_prefix.get(longest, self.store)

    def check(self, key_range: KeyRange, revision: Revision) -> None:
        """Raise `Compacted` when the range cannot be read at `revision`."""
        floor = self.store if not self._ranges else self.of(key_range)
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
