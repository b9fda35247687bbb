"""Retention looks at the database: what the rules want given up, and what of it is there to be given up."""

from collections.abc import Mapping, Sequence

from kinepy.clock import Clock
from kinepy.drivers.base import Driver, ReadTransaction
from kinepy.keys import KeyRange
from kinepy.log.clock_steps import ClockSteps
from kinepy.log.compaction import parts
from kinepy.log.floors import Floors
from kinepy.log.retention import Ledger, Tally, needed_floor, retention_target
from kinepy.retention import Retention, parse_rules, rule_for
from kinepy.revision import Revision
from kinepy.settings import Settings


class Retainer:
    """Applies the rules of retention to the floors."""

    def __init__(self, driver: Driver, *, steps: ClockSteps, settings: Settings, clock: Clock) -> None:
        default = Retention(keep_s=settings.compaction_keep_s, keep_changes=settings.compaction_keep_changes)
        self.rules: Mapping[bytes, Retention] = parse_rules(settings.retention, default=default)
        self._driver, self._steps, self._clock = driver, steps, clock
        self._step = settings.compaction_batch_rows
        self._ledgers: dict[bytes, Ledger] = {}
        # Below these revisions there is nothing that could be given up above the floor.
        self._quiet_below: dict[KeyRange, Revision] = {}

    def forget(self) -> None:
        """The database is another one."""
        self._ledgers.clear()
        self._quiet_below.clear()

    async def targets(self, floors: Floors) -> Mapping[bytes, Revision]:
        """The floors that are to rise, and where to."""
        found: dict[bytes, Revision] = {}
        for prefix, ranges in parts(floors.by_prefix).items():
            rule = rule_for(self.rules, prefix)
            if rule.forever:
                continue
            floor = floors.of_prefix(prefix)
            ledger = await self._count(prefix, ranges, floor) if _needs_ledger(rule, prefix) else None
            async with self._driver.read() as tx:
                wanted = await self._wanted(tx, prefix, rule, floor=floor, ledger=ledger)
                target = await self._needed(tx, ranges, floor=floor, target=wanted)
            if target > floor:
                found[prefix] = target
        return found

    async def _needed(
        self, tx: ReadTransaction, ranges: Sequence[KeyRange], *, floor: Revision, target: Revision
    ) -> Revision:
        needed = floor
        for key_range in ranges:
            after = max(Revision(floor - 1), self._quiet_below.get(key_range, Revision(0)))
            if after + 1 >= target or key_range.is_empty:
                continue
            newest = await tx.newest_superseding(key_range, after=after, before=target)
            if newest is None:
                self._quiet_below[key_range] = Revision(target - 1)
            needed = max(needed, needed_floor(floor=floor, target=target, superseding=newest))
        return needed

    async def _end_of_step(self, tx: ReadTransaction, *, after: Revision, current: Revision) -> Revision:
        """Where the next step of counting ends. A new epoch leaves a gap that no number of steps would cross."""
        if current - after > self._step:
            rows = await tx.history(KeyRange.everything(), after=after, upto=current, limit=1)
            after = Revision(rows[0].row.revision - 1) if rows else current
        return Revision(min(after + self._step, current))

    async def _count(self, prefix: bytes, ranges: Sequence[KeyRange], floor: Revision) -> Ledger:
        """Bring the ledger of a prefix up to the current revision, a bounded step at a time."""
        ledger = self._ledgers.get(prefix)
        if ledger is None or ledger.end < floor:
            ledger = self._ledgers[prefix] = Ledger(floor)
        ledger.forget(floor)
        current = await self._driver.current()
        while ledger.end < current:
            begun = self._clock.monotonic()
            async with self._driver.read() as tx:
                upto = await self._end_of_step(tx, after=ledger.end, current=current)
                tallies = [await tx.tally(each, after=ledger.end, upto=upto) for each in ranges]
            ledger.add(Tally(upto, sum(each[0] for each in tallies), sum(each[1] for each in tallies)))
            await self._clock.sleep(self._clock.monotonic() - begun)
        return ledger

    async def _wanted(
        self, tx: ReadTransaction, prefix: bytes, rule: Retention, *, floor: Revision, ledger: Ledger | None
    ) -> Revision:
        """What a rule wants."""
        current = await tx.current()
        newest_old = newest_spare = newest_large = None
        if rule.keep_s is not None:
            newest_old = await self._steps.revision_before(tx, age_s=rule.keep_s)
        if rule.keep_changes is not None:
            newest_spare = Revision(max(current - rule.keep_changes, 0))
            if prefix and ledger is not None:
                newest_spare = ledger.after_changes(rule.keep_changes)
        if rule.bytes_max is not None and ledger is not None:
            newest_large = ledger.within_bytes(rule.bytes_max)
        return retention_target(
            rule,
            floor=floor,
            current=current,
            newest_old=newest_old,
            newest_spare=newest_spare,
            newest_large=newest_large,
        )


def _needs_ledger(rule: Retention, prefix: bytes) -> bool:
    """For the whole store the number of changes is known from the revision."""
    return rule.bytes_max is not None or (bool(prefix) and rule.keep_changes is not None)
