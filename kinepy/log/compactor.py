"""Compaction: floors move first, then rows go in short windows, and writes pass in between.

A run that was broken off is taken up again: by this process where it stopped, by another from the
oldest row on. A failure is counted, logged and tried again; it never stops the store.
"""

import asyncio
import logging
from collections.abc import Sequence

from kinepy.clock import Clock
from kinepy.drivers.base import Driver, Maintenance
from kinepy.errors import Compacted, KinepyError, RevisionInFuture, StorageUnavailable
from kinepy.keys import KeyRange
from kinepy.log.clock_steps import ClockSteps
from kinepy.log.compaction import Pace, Progress, parts
from kinepy.log.floors import Floors, read_floors
from kinepy.log.metrics import StoreMetrics
from kinepy.log.retain import Retainer
from kinepy.log.tail import Tail
from kinepy.retention import rule_for
from kinepy.revision import Revision
from kinepy.settings import Settings

log = logging.getLogger("kinepy")

TURN_WAIT_S = 0.05
TURNS_MAX = 100
EVERYTHING = KeyRange.everything()


class Compactor:
    """Moves floors and deletes what no read can see any more."""

    def __init__(
        self,
        driver: Driver,
        tail: Tail,
        *,
        steps: ClockSteps,
        settings: Settings,
        clock: Clock,
        metrics: StoreMetrics,
    ) -> None:
        self._driver, self._tail = driver, tail
        self._settings, self._clock, self._metrics = settings, clock, metrics
        self._retainer = Retainer(driver, steps=steps, settings=settings, clock=clock)
        self._progress: dict[KeyRange, Progress] = {}
        self._pace = Pace(settings.compaction_batch_rows)
        self._epoch = 0
        self._turn = asyncio.Lock()

    async def compact(self, to: Revision | None) -> Revision:
        """See `Store.compact`."""
        for _ in range(TURNS_MAX):
            async with self._turn, self._driver.maintenance() as maintenance:
                if maintenance is not None:
                    floors = await self._split(await self._look_at_floors())
                    target = await self._move_floors(maintenance, floors, to)
                    await self._delete(maintenance, await self._look_at_floors())
                    return target
            await self._clock.sleep(TURN_WAIT_S)
        # Another process is busy with a long run: the floors move now, the rows go with the next run.
        floors = await self._look_at_floors()
        if self._without_floor(floors):
            raise StorageUnavailable("another process has been compacting all the while")
        return await self._move_floors(None, floors, to)

    async def _move_floors(
        self, maintenance: Maintenance | None, floors: Floors, to: Revision | None
    ) -> Revision:
        """Raise every floor that is lower, but for prefixes that are kept for ever; returns the store's floor."""
        current = await self._tail.continuity.current()
        target = current if to is None else to
        if target > current:
            raise RevisionInFuture(requested=target, current=current)
        if target < floors.store:
            raise Compacted(requested=target, compacted=floors.store)
        moved = [
            prefix
            for prefix, floor in {b"": floors.store, **floors.by_prefix}.items()
            if floor < target and not rule_for(self._retainer.rules, prefix).forever
        ]
        await self._put_floors(maintenance, moved, target)
        return target

    async def _put_floors(
        self, maintenance: Maintenance | None, prefixes: Sequence[bytes], target: Revision
    ) -> None:
        if maintenance is not None:
            for prefix in prefixes:
                await maintenance.put_floor(prefix, target)
        elif prefixes:
            async with self._driver.write() as tx:
                if tx.revision < target:
                    raise StorageUnavailable(f"it stands at revision {tx.revision}, but has been at {target}")
                for prefix in prefixes:
                    await tx.put_floor(prefix, target)
        if prefixes:
            await self._tail.look_at_floors()

    async def _look_at_floors(self) -> Floors:
        """The floors. Where a new epoch began, what was deleted before may be there again."""
        floors = await self._tail.look_at_floors()
        if floors.epoch != self._epoch:
            self._epoch = floors.epoch
            self._progress.clear()
            self._retainer.forget()
        return floors

    def _without_floor(self, floors: Floors) -> list[bytes]:
        return [
            prefix for prefix in sorted(self._retainer.rules) if prefix and prefix not in floors.by_prefix
        ]

    async def _split(self, floors: Floors) -> Floors:
        """Give every prefix that has a rule a floor of its own, which begins where it is.

        Done with the right to compact, and under the order lock: while others compact, or move floors without that
        right, a new floor could begin below what they give up.
        """
        if not self._without_floor(floors):
            return floors
        async with self._driver.write() as tx:
            floors = await read_floors(tx)
            for prefix in self._without_floor(floors):
                await tx.put_floor(prefix, floors.of_prefix(prefix))
        return await self._look_at_floors()

    async def _delete(self, maintenance: Maintenance, floors: Floors) -> None:
        """Delete what no read at or after the floors can see."""
        deleted = 0
        for prefix, ranges in parts(floors.by_prefix).items():
            floor = floors.of_prefix(prefix)
            for key_range in ranges:
                deleted += await self._delete_in(maintenance, key_range, floor)
        self._metrics.compacted_rows += deleted
        if deleted:
            await maintenance.reclaim()
            log.info("compacted to revision %d: %d rows deleted", floors.store, deleted)

    async def _delete_in(self, maintenance: Maintenance, key_range: KeyRange, floor: Revision) -> int:
        progress = self._progress.setdefault(key_range, Progress())
        if floor <= progress.done_floor:
            return 0
        progress.begin(floor)
        deleted = 0
        while (oldest := await self._next_row(progress.done_upto, floor)) is not None:
            # Revisions without rows are skipped: most have none after many compactions.
            after = Revision(oldest - 1)
            stop = Revision(min(floor, after + 64 * self._settings.compaction_batch_rows))
            while after < stop:
                upto = Revision(min(after + self._pace.rows, stop))
                async with maintenance.beside_no_checkpoint():
                    # What was waited for before tells nothing of how long a deletion takes.
                    begun = self._clock.monotonic()
                    gone = await maintenance.delete_superseded(key_range, after=after, upto=upto, floor=floor)
                    took = self._clock.monotonic() - begun
                deleted += gone
                progress.done_upto = after = upto
                await self._clock.sleep(self._pace.took(took))
                if not gone:
                    break  # Perhaps nothing is near: a new epoch begins far away.
        progress.done_floor = floor
        return deleted

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
            floors = await self._split(await self._look_at_floors())
            targets = await self._retainer.targets(floors)
            self._metrics.compaction_lag = max(
                (target - floors.of_prefix(prefix) for prefix, target in targets.items()), default=0
            )
            begun = self._clock.monotonic()
            for prefix, target in targets.items():
                await maintenance.put_floor(prefix, target)
            await self._delete(maintenance, await self._look_at_floors() if targets else floors)
            took = self._clock.monotonic() - begun
            self._pace.ran(took, interval_s=self._settings.compaction_interval_s)
            self._metrics.compaction_lag = 0
