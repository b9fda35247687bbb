"""Leases: their end is an instant in the database, and their keys die in one revision.

All changes of leases go through the commit queue, so they are decided under the order lock: whichever
process ends a lease, it is ended once.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Sequence
from random import Random

from kinepy.clock import Clock
from kinepy.drivers.base import Driver, LeaseRow, ReadTransaction
from kinepy.errors import KinepyError, LeaseExists, LeaseNotFound, StoreClosed
from kinepy.log.clock_steps import ClockSteps
from kinepy.log.committer import Committer
from kinepy.log.draft import ROW_OVERHEAD_BYTES, Draft, Write
from kinepy.log.metrics import StoreMetrics
from kinepy.records import Lease, LeaseStatus
from kinepy.revision import Revision
from kinepy.settings import Settings

SECOND_US = 1_000_000
EXPIRED_SEEN_MAX = 1024
EXPIRED_AT_ONCE_MAX = 256
AFTER_STEP_SEEN_MAX = 100_000
KEY_BYTES = 1024
"""What a key of a lease that ends adds to its batch: so that no commit deletes more than some ten thousand keys, unless
one lease alone holds more."""


class _LeaseWrite(Write):
    """A write about one lease."""

    __slots__ = ("lease",)

    def __init__(self, lease: int) -> None:
        self.lease = lease
        self.keys = ()
        self.size_bytes = ROW_OVERHEAD_BYTES

    @property
    def leases(self) -> Collection[int]:
        return (self.lease,)

    @property
    def is_plain(self) -> bool:
        return False


class GrantLease(_LeaseWrite):
    """Make a lease."""

    __slots__ = ("ttl_s",)

    def __init__(self, lease: int, ttl_s: int) -> None:
        super().__init__(lease)
        self.ttl_s = ttl_s

    def evaluate(self, draft: Draft) -> Lease:
        """Returns the lease; raises `LeaseExists`, also while an expired one's keys still stand."""
        if self.lease in draft.leases:
            raise LeaseExists(lease=self.lease)
        return _start(draft, self.lease, self.ttl_s)


class KeepLeaseAlive(_LeaseWrite):
    """Start a lease's time anew."""

    __slots__ = ()

    def evaluate(self, draft: Draft) -> Lease:
        """Returns the lease with its new end; raises `LeaseNotFound`."""
        return _start(draft, self.lease, draft.live_lease(self.lease).ttl_s)


def _start(draft: Draft, lease: int, ttl_s: int) -> Lease:
    row = LeaseRow(lease, ttl_s, draft.now_us + ttl_s * SECOND_US)
    draft.grant(row)
    return Lease(row.id, row.ttl_s, row.expires_at)


class EndLease(_LeaseWrite):
    """Delete a lease and, in one revision, its keys."""

    __slots__ = "only_expired"

    def __init__(self, lease: int, *, only_expired: bool, keys: int = 0) -> None:
        """`keys` is how many it holds, as far as is known: batches are bounded by it."""
        super().__init__(lease)
        self.only_expired = only_expired
        self.size_bytes += keys * KEY_BYTES

    @property
    def ending_lease(self) -> int | None:
        return self.lease

    def evaluate(self, draft: Draft) -> Revision:
        """Returns the revision of the deletes, the current one when the lease had no keys."""
        row = draft.leases.get(self.lease)
        # Another process may have ended it, or its holder kept it alive, since we looked.
        if row is None or draft.has_expired(row) != self.only_expired:
            raise LeaseNotFound(lease=self.lease)
        revision = Revision(draft.revision + 1)
        for sub, key in enumerate(draft.keys_of_lease(self.lease)):
            draft.delete(key, revision=revision, sub=sub, actor=None)
        draft.end_lease(self.lease)
        return draft.revision


class Leases:
    """The store's leases, and the task that ends expired ones."""

    def __init__(
        self,
        driver: Driver,
        committer: Committer,
        *,
        steps: ClockSteps,
        settings: Settings,
        clock: Clock,
        random: Random,
        metrics: StoreMetrics,
    ) -> None:
        self._driver, self._committer, self._steps = driver, committer, steps
        self._settings, self._clock, self._random, self._metrics = settings, clock, random, metrics

    async def grant(self, ttl_s: int, lease: int | None) -> Lease:
        """See `Store.grant_lease`."""
        while True:
            chosen = self._random.randrange(1, 2**63) if lease is None else lease
            try:
                granted = await self._committer.submit(GrantLease(chosen, ttl_s))
            except LeaseExists:
                if lease is not None:
                    raise
                continue
            assert isinstance(granted, Lease)
            return granted

    async def keep_alive(self, lease: int) -> Lease:
        """See `Store.keep_lease_alive`."""
        kept = await self._committer.submit(KeepLeaseAlive(lease))
        assert isinstance(kept, Lease)
        return kept

    async def revoke(self, lease: int) -> Revision:
        """See `Store.revoke_lease`."""
        return Revision(int(await self._committer.submit(EndLease(lease, only_expired=False))))  # type: ignore[call-overload]

    async def status(self, lease: int) -> LeaseStatus:
        """See `Store.lease_status`."""
        async with self._driver.read() as tx:
            row, now_us = await tx.lease(lease), await self._steps.now_us(tx)
            if row is None or self._steps.end_of(row, now_us) <= now_us:
                raise LeaseNotFound(lease=lease)
            keys = await tx.lease_keys(lease)
        return LeaseStatus(row.id, row.ttl_s, (self._steps.end_of(row, now_us) - now_us) / SECOND_US, keys)

    async def all(self) -> list[int]:
        """See `Store.leases`."""
        async with self._driver.read() as tx:
            now_us = await self._steps.now_us(tx)
            return [row.id for row in await tx.leases() if self._steps.end_of(row, now_us) > now_us]

    async def run(self) -> None:
        """End expired leases until the store closes."""
        while True:
            await self._clock.sleep(self._settings.lease_check_interval_s)
            try:
                await self.end_expired()
            except StoreClosed:
                return
            except KinepyError:
                self._metrics.failed("lease")

    async def end_expired(self) -> None:
        """End the leases that have expired."""
        while await self._end_some():
            pass

    async def _end_some(self) -> bool:
        """End some of the leases that have expired; returns whether there are more."""
        async with self._driver.read() as tx:
            rows = await self._expired(tx)
            # Other processes see the same leases: each takes some by chance, so that few are tried twice.
            chosen = self._random.sample(rows, EXPIRED_AT_ONCE_MAX) if _are_many(rows) else rows
            held = Counter(lease for lease, _ in await tx.keys_of_leases([row.id for row in chosen]))
        ends: list[asyncio.Future[object]] = []
        try:
            for row in chosen:
                end = EndLease(row.id, only_expired=True, keys=held[row.id])
                ends.append(self._committer.submit(end))
        finally:
            # Also when the queue had no room for all of them.
            outcomes = await asyncio.gather(*ends, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException) and not isinstance(outcome, LeaseNotFound):
                raise outcome
        return len(chosen) < len(rows)

    async def _expired(self, tx: ReadTransaction) -> Sequence[LeaseRow]:
        """The first of those that have expired."""
        steps = self._steps
        now_us = await steps.now_us(tx)
        if not steps:
            return await tx.expired_leases(now_us=now_us, limit=EXPIRED_SEEN_MAX)
        # Those whose time is not over, though the clock says so, may stand before the others.
        rows = await tx.expired_leases(now_us=now_us, limit=AFTER_STEP_SEEN_MAX)
        return [row for row in rows if steps.end_of(row, now_us) <= now_us][:EXPIRED_SEEN_MAX]


def _are_many(rows: Sequence[LeaseRow]) -> bool:
    return len(rows) > EXPIRED_AT_ONCE_MAX
