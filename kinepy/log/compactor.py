"""Compaction: the floor moves first, then rows go in short windows, and writes pass in between.

A run that was broken off is taken up again: by this process where it stopped, by another from the
oldest row on. A failure is counted, logged and tried again; it never stops the store.
"""

import asyncio
import logging

from kinepy.clock import Clock
from kinepy.drivers.base import Driver, Maintenance
from kinepy.errors import Compacted, KinepyError, RevisionInFuture
from kinepy.keys import KeyRange
from kinepy.log.compaction import resume_point, retention_target, windows
from kinepy.log.metrics import StoreMetrics
from kinepy.log.tail import Tail
from kinepy.revision import Revision
from kinepy.settings import Settings

log = logging.getLogger("kinepy")

SECOND_US = 1_000_000
TURN_WAIT_S = 0.05
TURNS_MAX = 100
EVERYTHING = KeyRange.everything()


class Compactor:
    """Moves the floor and deletes what no read can see any more."""

    def __init__(
        self, driver: Driver, tail: Tail, *, settings: Settings, clock: Clock, metrics: StoreMetrics
    ) -> None:
        self._driver, self._tail = driver, tail
        self._settings, self._clock, self._metrics = settings, clock, metrics
        # Everything for this floor has been deleted, as far as this process knows.
        self._done_floor = Revision(0)
        # Everything up to here has been deleted for the floor that is being worked on.
        self._done_upto = Revision(0)
        self._working_floor = Revision(0)
        self._epoch = 0
        self._turn = asyncio.Lock()

    async def compact(self, to: Revision | None) -> Revision:
        """See `Store.compact`."""
        for _ in range(TURNS_MAX):
            async with self._turn, self._driver.maintenance() as maintenance:
                if maintenance is not None:
                    floor = await self._move_floor(maintenance, to)
                    await self._delete(maintenance, floor)
                    return floor
            await self._clock.sleep(TURN_WAIT_S)
        # Another process is busy with a long run: the floor moves now, the rows go with the next run.
        return await self._move_floor(None, to)

    async def _move_floor(self, maintenance: Maintenance | None, to: Revision | None) -> Revision:
        current = await self._driver.current()
        floor = await self._look_at_floor()
        target = current if to is None else to
        if target > current:
            raise RevisionInFuture(requested=target, current=current)
        if target < floor:
            raise Compacted(requested=target, compacted=floor)
        if target > floor:
            if maintenance is not None:
                await maintenance.put_floor(b"", target)
            else:
                async with self._driver.write() as tx:
                    await tx.put_floor(b"", target)
            await self._tail.look_at_floors()
        return target

    async def _look_at_floor(self) -> Revision:
        """The store's floor. Where a new epoch began, what was deleted before may be there again."""
        floors = await self._tail.look_at_floors()
        if floors.epoch != self._epoch:
            self._epoch = floors.epoch
            self._done_floor = self._done_upto = self._working_floor = Revision(0)
        return floors.store

    async def _delete(self, maintenance: Maintenance, floor: Revision) -> None:
        """Delete what no read at or after `floor` can see."""
        if floor <= self._done_floor:
            return
        if floor != self._working_floor:
            self._working_floor = floor
            # What was deleted for a lower floor need not be looked at again, except around that floor.
            self._done_upto = resume_point(max(self._done_floor, min(self._done_upto, floor)))
        deleted = 0
        while (oldest := await self._next_row(self._done_upto, floor)) is not None:
            # Revisions without rows are skipped: most have none after many compactions.
            start = Revision(oldest - 1)
            stop = Revision(min(floor, start + 64 * self._settings.compaction_batch_rows))
            for after, upto in windows(after=start, upto=stop, step=self._settings.compaction_batch_rows):
                begun = self._clock.monotonic()
                deleted += await maintenance.delete_superseded(
                    EVERYTHING, after=after, upto=upto, floor=floor
                )
                self._done_upto = upto
                # As long a pause as the work took: writes come first.
                await self._clock.sleep(self._clock.monotonic() - begun)
        self._done_floor = floor
        self._metrics.compacted_rows += deleted
        if deleted:
            await maintenance.reclaim()
            log.info("compacted to revision %d: %d rows deleted", floor, deleted)

    async def _next_row(self, after: Revision, upto: Revision) -> Revision | None:
        async with self._driver.read() as tx:
            rows = await tx.history(EVERYTHING, after=after, upto=upto, limit=1)
        return rows[0].row.revision if rows else None

    # --- in the background

    async def run(self) -> None:
        """Apply retention now and then, and finish what others have left, until cancelled."""
        while True:
            await self._clock.sleep(self._settings.compaction_interval_s)
            try:
                await self.apply_retention()
            except KinepyError as error:
                self._metrics.failed("compaction")
                log.warning("compaction: %s", error)

    async def apply_retention(self) -> None:
        """Compact what is older than retention keeps."""
        async with self._turn, self._driver.maintenance() as maintenance:
            if maintenance is None:
                return
            floor = await self._look_at_floor()
            target = await self._retention_target(floor)
            self._metrics.compaction_lag = target - floor
            if target > floor:
                await self._move_floor(maintenance, target)
            await self._delete(maintenance, target)
            self._metrics.compaction_lag = 0

    async def _retention_target(self, floor: Revision) -> Revision:
        async with self._driver.read() as tx:
            horizon = await tx.now_us() - int(self._settings.compaction_keep_s * SECOND_US)
            newest_old = await tx.revision_before(committed_at=horizon)
            current = await tx.current()
        return retention_target(
            current=current,
            floor=floor,
            keep_changes=self._settings.compaction_keep_changes,
            newest_old=newest_old,
        )
