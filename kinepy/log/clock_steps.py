"""The database's clock may be set while a process runs: nothing is to end, or to be old, before its time.

An instant in the database belongs to the clock as it was when it was written. A process sees the clock jump by
comparing it with its own monotonic one. Of what was written it does not know by which clock, before or after a jump,
or by that of a process that has not jumped; it goes by the one that gives it the most time, among those by which it
was not written in the future. A process that starts after a jump knows only the clock as it is.
"""

from typing import Final

from kinepy.clock import Clock
from kinepy.drivers.base import LeaseRow, ReadTransaction
from kinepy.revision import Revision

SECOND_US: Final = 1_000_000
STEP_MIN_US: Final = SECOND_US
"""Less than this is how clocks differ, and how long an answer takes."""
SURE_US: Final = SECOND_US // 4
"""A look that took longer says too little of the clock to be compared with the next."""
STEPS_MAX: Final = 16


class ClockSteps:
    """The jumps that one process has seen of the database's clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead: list[int] = []
        """By how much the clock is ahead of what it was at other times, the most first."""
        self._forward: list[tuple[int, int]] = []
        """When it was set forward, by the new clock, and by how much; the oldest first."""
        self._seen_us = 0
        self._since = self._until = 0.0

    def __len__(self) -> int:
        return len(self._ahead)

    def observe(self, now_us: int, *, since: float) -> None:
        """The database's clock was read after the moment `since` of the monotonic clock, and before this call."""
        until = self._clock.monotonic()
        if self._seen_us:
            moved = now_us - self._seen_us
            # It may have been by so much: rather too much than too little.
            by_us = moved - _us(since - self._until)
            if moved - _us(until - self._since) > STEP_MIN_US or by_us < -STEP_MIN_US:
                self._add(now_us, by_us)
            elif _us(until - since) > SURE_US:
                return
        self._seen_us, self._since, self._until = now_us, since, until

    def end_of(self, lease: LeaseRow, now_us: int) -> int:
        """When a lease ends by the clock of now. Its row tells when it was granted, or kept alive last."""
        granted = lease.expires_at - lease.ttl_s * SECOND_US
        for ahead_us in self._ahead:
            if granted + ahead_us <= now_us + STEP_MIN_US:
                return lease.expires_at + max(ahead_us, 0)
        return lease.expires_at

    async def now_us(self, tx: ReadTransaction) -> int:
        """The database's time."""
        since = self._clock.monotonic()
        now_us = await tx.now_us()
        self.observe(now_us, since=since)
        return now_us

    async def revision_before(self, tx: ReadTransaction, *, age_s: float) -> Revision | None:
        """The newest revision that was committed at least `age_s` ago; None when none was."""
        return await tx.revision_before(committed_at=self.before(await self.now_us(tx), age_s=age_s))

    def before(self, now_us: int, *, age_s: float) -> int:
        """What was written at or before the instant returned is so old."""
        instant = now_us - int(age_s * SECOND_US)
        for at_us, by_us in reversed(self._forward):
            if instant < at_us:
                instant -= by_us
        return instant

    def _add(self, at_us: int, by_us: int) -> None:
        ahead = {by_us, *(ahead_us + by_us for ahead_us in self._ahead)}
        # Without one of them something may end later.
        self._ahead = sorted(ahead, reverse=True)[:STEPS_MAX]
        if by_us > 0:
            self._forward = [*self._forward, (at_us, by_us)]
        if len(self._forward) > STEPS_MAX:
            # Of what was written between the two it is then thought that it is younger.
            (_, first), (second_at_us, second) = self._forward[:2]
            self._forward[:2] = [(second_at_us, first + second)]


def _us(seconds: float) -> int:
    return int(seconds * SECOND_US)
