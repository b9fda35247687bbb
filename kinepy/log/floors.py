"""Compaction floors: for the whole store, and for prefixes."""

from collections.abc import Mapping

from kinepy.drivers.base import EpochRow, ReadTransaction
from kinepy.errors import Compacted
from kinepy.keys import KeyRange
from kinepy.revision import FIRST_REVISION, Revision


def overlap(left: KeyRange, right: KeyRange) -> bool:
    """Whether some key can be in both ranges."""
    starts_before_right_ends = right.end is None or left.start < right.end
    return starts_before_right_ends and (left.end is None or right.start < left.end)


class Floors:
    """The oldest readable revision of each part of the store. An immutable value."""

    __slots__ = ("by_prefix", "epoch", "store")

    def __init__(self, by_prefix: Mapping[bytes, Revision], epoch: EpochRow | None = None) -> None:
        self.epoch = 1 if epoch is None else epoch.number
        # Revisions before a later epoch's base may mean something else to the clients that saw them.
        base = epoch.base_revision if epoch is not None and epoch.number > 1 else FIRST_REVISION
        self.store = max(by_prefix.get(b"", FIRST_REVISION), base)
        self.by_prefix = {prefix: floor for prefix, floor in by_prefix.items() if prefix}

    def of(self, key_range: KeyRange) -> Revision:
        """The oldest revision at which the whole range can be read."""
        floor = self.store
        for prefix, revision in self.by_prefix.items():
            if revision > floor and overlap(key_range, KeyRange.prefix(prefix)):
                floor = revision
        return floor

    def check(self, key_range: KeyRange, revision: Revision) -> None:
        """Raise `Compacted` when the range cannot be read at `revision`."""
        floor = self.store if not self.by_prefix else self.of(key_range)
        if revision < floor:
            raise Compacted(requested=revision, compacted=floor)


async def read_floors(tx: ReadTransaction) -> Floors:
    """The floors of a snapshot."""
    epochs = await tx.epochs()
    return Floors(await tx.floors(), epochs[-1] if epochs else None)
