"""New epochs: how a store goes on whose database turned out to be older than what was seen of it."""

from kinepy.drivers.base import EpochRow, WriteTransaction
from kinepy.revision import Revision

EPOCH_JUMP = 2**20


async def begin_epoch(tx: WriteTransaction, *, seen: Revision, reason: str) -> EpochRow:
    """Jump ahead of every revision that anybody may have seen, and give up the history before.

    The base is the time in microseconds: later than every base before, and ahead of what any lost branch of the
    store can have handed out since its own base, at less than a million changes a second. It stays below 2**53, up
    to which every JSON reader is exact, until the year 2255. Where the clock is behind, `seen` decides.
    """
    newest = max(epoch.number for epoch in await tx.epochs())
    now_us = await tx.now_us()
    base = Revision(max(now_us, max(seen, tx.revision) + EPOCH_JUMP))
    epoch = EpochRow(newest + 1, base, reason, now_us)
    await tx.put_epoch(epoch)
    # A revision between the old end and the base was somebody else's state: nobody may read it here.
    await tx.put_floor(b"", base)
    if tx.lineage is not None:
        await tx.put_lineage(tx.lineage)
    return epoch
