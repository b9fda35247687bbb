"""No revision that anybody was shown ever comes to mean something else.

A database may turn out to be older than what was seen of it: its file was rolled back, it was restored, or a
server took over that lacks the last commits. Whoever notices begins a new epoch, ahead of all that was seen.
"""

import asyncio
import logging

from kinepy.clock import Clock
from kinepy.drivers.base import Driver, WriteTransaction
from kinepy.drivers.lasting import to_the_end
from kinepy.errors import StorageUnavailable, WriteOutcomeUnknown
from kinepy.log.epochs import begin_epoch
from kinepy.log.metrics import StoreMetrics
from kinepy.log.witness import SYNC_INTERVAL_S, Witness
from kinepy.revision import Revision

log = logging.getLogger("kinepy")


class Continuity:
    """What this process has shown of the store, and what it does when the database knows less."""

    def __init__(self, driver: Driver, *, clock: Clock, metrics: StoreMetrics, lossless: bool) -> None:
        self._driver, self._clock, self._metrics = driver, clock, metrics
        # What this process has seen is compared all the same.
        self._lossless = lossless
        self._witness: Witness | None = None
        self._lineage: str | None = None
        self._turn = asyncio.Lock()
        self.seen = Revision(0)

    async def begin(self, *, witness_path: str | None) -> None:
        """Compare the database with the witness, and its server with the one before. Done once, at the start."""
        if witness_path is not None and self._driver.facts.durable:
            async with self._driver.read() as tx:
                store_id = await tx.store_id()
            self._witness = Witness.open(witness_path, store_id=store_id)
            self.seen = self._witness.seen
        if self._driver.facts.servers_change or await self._driver.current() < self.seen:
            await self.restore()

    def saw(self, revision: Revision) -> None:
        """A revision is about to be shown to somebody. Raises `StoreClosed` after `close`, if there is a witness."""
        if revision > self.seen:
            if self._witness is not None:
                self._witness.saw(revision)
            self.seen = revision

    def is_broken(self, tx: WriteTransaction) -> bool:
        """Whether nothing may be written in this transaction: call `restore` after it."""
        return tx.revision < self.seen or tx.lineage != self._lineage

    async def current(self) -> Revision:
        """The database's current revision. It sees every commit acknowledged before the call, by whatever process."""
        seen = self.seen
        revision = await self._driver.current()
        if revision < seen:
            # Not an answer that was overtaken by our own commits: what we had seen before asking is gone.
            revision = await self.restore()
        self.saw(revision)
        return revision

    async def restore(self) -> Revision:
        """Begin a new epoch unless the database knows everything that was seen; returns its current revision.

        Raises `StorageUnavailable`; doing it again is fine.
        """
        async with self._turn:
            try:
                async with self._driver.write() as tx:
                    revision = await self._restored(tx)
            except WriteOutcomeUnknown as error:
                raise StorageUnavailable(error.reason) from error
            self._lineage = tx.lineage
        return revision

    async def _restored(self, tx: WriteTransaction) -> Revision:
        stored = await tx.stored_lineage() if tx.lineage is not None else None
        # A server may lack even the commit that noted which one was before it.
        before = stored or self._lineage
        if tx.revision < self.seen:
            reason = f"the database stands at revision {tx.revision}, but was seen at {self.seen}"
        elif tx.lineage is not None and before not in (None, tx.lineage) and not self._lossless:
            reason = f"server {tx.lineage} took over from {before}, and may lack its last commits"
        else:
            if tx.lineage is not None and stored != tx.lineage:
                await tx.put_lineage(tx.lineage)
            return tx.revision
        epoch = await begin_epoch(tx, seen=self.seen, reason=reason)
        self._metrics.epochs_begun += 1
        log.warning("epoch %d begins at revision %d: %s", epoch.number, epoch.base_revision, reason)
        return epoch.base_revision

    async def keep(self) -> None:
        """Let the witness survive power failures too. Runs until cancelled."""
        while True:
            await self._clock.sleep(SYNC_INTERVAL_S)
            if self._witness is not None:
                # To its end: the file is closed after this.
                await to_the_end(asyncio.to_thread(self._witness.sync))

    def close(self) -> None:
        """Close the witness. Twice is fine."""
        if self._witness is not None:
            self._witness.close()
