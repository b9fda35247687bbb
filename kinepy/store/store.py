"""The store's face to its users."""

import asyncio
import logging
from random import Random
from typing import cast

from kinepy.clock import Clock
from kinepy.drivers.base import Driver
from kinepy.errors import RevisionInFuture, StoreClosed
from kinepy.keys import KeyRange
from kinepy.log.barrier import Barrier
from kinepy.log.clock_steps import ClockSteps
from kinepy.log.committer import Committer
from kinepy.log.compactor import Compactor
from kinepy.log.continuity import Continuity
from kinepy.log.floors import read_floors
from kinepy.log.hub import Hub
from kinepy.log.jobs import Jobs
from kinepy.log.metrics import StoreMetrics
from kinepy.log.tail import Tail
from kinepy.records import (
    CountResult,
    DeleteResult,
    KeyValue,
    Lease,
    LeaseStatus,
    RangeResult,
    StoreStatus,
    Txn,
    TxnResult,
)
from kinepy.revision import Revision
from kinepy.settings import Settings
from kinepy.store.bounds import check_actor, check_key, check_lease_id, check_ttl, check_value
from kinepy.store.lease import Leases
from kinepy.store.reads import Reads
from kinepy.store.rivals import Rivals
from kinepy.store.state import LocalState
from kinepy.store.turns import Turns
from kinepy.store.txn import TxnWrite, check_txn
from kinepy.store.watch import History, Watch
from kinepy.store.writes import CreateWrite, DeleteWrite, GuardedCreate, PutWrite, UpdateWrite

log = logging.getLogger("kinepy")


class Store:
    """A versioned key-value store. Made by `open_store`.

    Reads without `at` are linearizable: they see every write acknowledged, by any process, before the
    call began. `consistent=False` reads what this process has applied, without asking the database.
    Reads at a revision raise `Compacted` or `RevisionInFuture`.
    """

    def __init__(self, driver: Driver, *, settings: Settings, clock: Clock, random: Random) -> None:
        """Not for users: `open_store` makes stores, starts them and runs `jobs`."""
        self.metrics = metrics = StoreMetrics()
        self._driver, self._settings, self._clock = driver, settings, clock
        self._state = state = LocalState(settings)
        self._hub = hub = Hub(settings, metrics)
        self._continuity = continuity = Continuity(
            driver, clock=clock, metrics=metrics, lossless=settings.postgres_standbys == "synchronous"
        )
        self._tail = tail = Tail(
            driver, state, hub, continuity=continuity, settings=settings, clock=clock, metrics=metrics
        )
        self._barrier = Barrier(continuity, metrics)
        self._steps = steps = ClockSteps(clock)
        self._committer = Committer(
            driver,
            state.cache,
            tail,
            continuity=continuity,
            steps=steps,
            settings=settings,
            clock=clock,
            random=random,
            metrics=metrics,
        )
        self._rivals = Rivals(driver.precedence, is_own=self._committer.wrote, clock=clock)
        self.turns = Turns(self._rivals)
        self._reads = Reads(driver, state, tail, barrier=self._barrier, settings=settings, metrics=metrics)
        self._history = History(driver, state, tail, hub=hub, settings=settings)
        self._compactor = Compactor(
            driver, tail, steps=steps, settings=settings, clock=clock, metrics=metrics
        )
        self._leases = Leases(
            driver,
            self._committer,
            steps=steps,
            settings=settings,
            clock=clock,
            random=random,
            metrics=metrics,
        )
        self._jobs = Jobs(self._refuse_everything)
        self._closed = False
        self._closing = asyncio.Lock()

    async def start(self) -> None:
        """Read what the store needs in memory and start its jobs. Done once, before anything else."""
        await self._continuity.begin(witness_path=self._settings.witness_path)
        await self._tail.load()
        async with self._driver.read() as tx:
            # From here on a step of the clock is seen, also by a store that never writes.
            await self._steps.now_us(tx)
        self._jobs.start("committer", self._committer.run())
        self._jobs.start("timekeeper", self._committer.keep_time())
        self._jobs.start("tail", self._tail.follow())
        self._jobs.start("index", self._tail.keep_index())
        self._jobs.start("barrier", self._barrier.run())
        self._jobs.start("compactor", self._compactor.run())
        self._jobs.start("witness", self._continuity.keep())
        self._jobs.start("lessor", self._leases.run())
        self._jobs.start("rivals", self._rivals.run())
        if self._driver.facts.shared:
            self._jobs.start("listener", self._tail.listen())

    def _refuse_everything(self) -> None:
        """End all watches and refuse what waits and what comes; the running batch goes on."""
        if not self._closed:
            self._closed = True
            self._hub.end_all(StoreClosed())
            self._committer.close()
            self._barrier.close()
            self._tail.close()

    # --- reading

    async def get(
        self, key: bytes, *, at: Revision | None = None, consistent: bool = True
    ) -> KeyValue | None:
        """The key's version at a revision, or None."""
        return await self._reads.get(key, at=at, consistent=consistent)

    async def range(
        self,
        key_range: KeyRange,
        *,
        at: Revision | None = None,
        limit: int | None = None,
        bytes_max: int | None = None,
        keys_only: bool = False,
        consistent: bool = True,
    ) -> RangeResult:
        """A snapshot of the range in key order, at most `limit` items; with `bytes_max` it ends with the item with
        which the values reach so many bytes."""
        return await self._reads.range(
            key_range, at=at, limit=limit, bytes_max=bytes_max, keys_only=keys_only, consistent=consistent
        )

    async def count(
        self, key_range: KeyRange, *, at: Revision | None = None, consistent: bool = True
    ) -> CountResult:
        """How many keys the range holds."""
        return await self._reads.count(key_range, at=at, consistent=consistent)

    async def current_revision(self) -> Revision:
        """The current revision; every write acknowledged before the call is at or below it."""
        return await self._reads.catch_up()

    @property
    def applied_revision(self) -> Revision:
        """The revision that this process has applied: a lower bound of the current one, free of charge."""
        return self._tail.applied

    @property
    def recent_events(self) -> int:
        """How many recent events this process holds, for watches that resume and reads of the recent past."""
        return len(self._state.ring)

    @property
    def compact_revision(self) -> Revision:
        """The oldest readable revision as far as this process knows."""
        return self._tail.floors.store

    async def revision_before(self, *, age_s: float) -> Revision | None:
        """The newest revision that was committed at least `age_s` ago, by the database's time; None when none was.

        A clock that is set forward while this process runs makes nothing older than it is.
        Right about every revision at which a key still stands, whatever was compacted.
        """
        async with self._driver.read() as tx:
            return await self._steps.revision_before(tx, age_s=age_s)

    async def wait_for(self, revision: Revision, *, timeout_s: float) -> Revision:
        """Wait until this process has applied `revision`; returns the applied one.

        Raises `RevisionInFuture` when the store has not got there in `timeout_s`.
        """
        if revision > self._tail.applied:
            try:
                async with asyncio.timeout(timeout_s):
                    await self._reads.catch_up()
                    await self._tail.wait_applied(revision)
            except TimeoutError:
                raise RevisionInFuture(requested=revision, current=self._tail.applied) from None
        return self._tail.applied

    # --- writing

    async def create(
        self,
        key: bytes,
        value: bytes,
        *,
        lease: int | None = None,
        actor: str | None = None,
        guard: KeyValue | None = None,
    ) -> KeyValue:
        """Write a key that must not exist. Raises `KeyExists`.

        With a `guard` only while that key is still the version given; else raises `GuardFailed`.
        """
        self._check(key, value, lease=lease, actor=actor)
        if guard is None:
            write = CreateWrite(key, value, lease=lease, actor=actor)
        else:
            write = GuardedCreate(key, value, guard=guard, lease=lease, actor=actor)
        return cast(KeyValue, await self._committer.submit(write))

    async def update(
        self,
        key: bytes,
        value: bytes,
        *,
        expect: Revision | None = None,
        lease: int | None = None,
        actor: str | None = None,
    ) -> KeyValue:
        """Write a key that must exist, and be at `expect` if given. Raises `KeyNotFound`, `RevisionConflict`."""
        self._check(key, value, lease=lease, actor=actor)
        write = UpdateWrite(key, value, expect=expect, lease=lease, actor=actor)
        return cast(KeyValue, await self._committer.submit(write))

    async def put(
        self, key: bytes, value: bytes, *, lease: int | None = None, actor: str | None = None
    ) -> KeyValue:
        """Write a key whether it exists or not."""
        self._check(key, value, lease=lease, actor=actor)
        return cast(KeyValue, await self._committer.submit(PutWrite(key, value, lease=lease, actor=actor)))

    async def delete(
        self, key: bytes, *, expect: Revision | None = None, actor: str | None = None
    ) -> DeleteResult:
        """Delete a key that must exist, and be at `expect` if given. Raises `KeyNotFound`, `RevisionConflict`."""
        check_key(key, self._settings)
        if actor is not None:
            check_actor(actor)
        write = DeleteWrite(key, expect=expect, actor=actor)
        return cast(DeleteResult, await self._committer.submit(write))

    async def txn(self, txn: Txn, *, actor: str | None = None) -> TxnResult:
        """Evaluate a transaction; all its writes share one revision."""
        check_txn(txn, self._settings)
        if actor is not None:
            check_actor(actor)
        return cast(
            TxnResult,
            await self._committer.submit(
                TxnWrite(txn, actor=actor, read_bytes_max=self._settings.transaction_read_bytes_max)
            ),
        )

    def _check(self, key: bytes, value: bytes, *, lease: int | None, actor: str | None) -> None:
        check_key(key, self._settings)
        check_value(key, value, self._settings)
        if lease is not None:
            check_lease_id(lease)
        if actor is not None:
            check_actor(actor)

    # --- watching

    def watch(self, key_range: KeyRange, *, start: Revision | None = None) -> Watch:
        """Every event of the range with revision >= `start`, in order, once; from now on without `start`.

        The subscription stands when this returns: with `start=None` it holds every event after
        `applied_revision`. A `start` beyond the current revision is silent until it is reached.
        Errors come from the iteration.
        """
        if self._closed:
            raise StoreClosed
        return Watch(self._history, key_range, start=start)

    # --- leases

    async def grant_lease(self, ttl_s: int, *, lease: int | None = None) -> Lease:
        """Grant a lease, with the given id or a random one. Raises `LeaseExists`."""
        check_ttl(ttl_s, self._settings)
        if lease is not None:
            check_lease_id(lease)
        return await self._leases.grant(ttl_s, lease)

    async def keep_lease_alive(self, lease: int) -> Lease:
        """Start the lease's time anew. Raises `LeaseNotFound`, also when it has expired and its keys still stand."""
        check_lease_id(lease)
        return await self._leases.keep_alive(lease)

    async def revoke_lease(self, lease: int) -> Revision:
        """Delete the lease and, in one revision, its keys. Raises `LeaseNotFound`."""
        check_lease_id(lease)
        return await self._leases.revoke(lease)

    async def lease_status(self, lease: int) -> LeaseStatus:
        """The lease now. Raises `LeaseNotFound`."""
        check_lease_id(lease)
        return await self._leases.status(lease)

    async def leases(self) -> list[int]:
        """The ids of all leases, in order."""
        return await self._leases.all()

    # --- upkeep

    async def store_id(self) -> str:
        """What tells this store from every other, whatever its database is called."""
        async with self._driver.read() as tx:
            return await tx.store_id()

    async def compact(self, to: Revision | None = None) -> Revision:
        """Give up history before `to` (None: the current revision) and delete it; returns the compact revision.

        Raises `Compacted` for one already below the floor, `RevisionInFuture`.
        """
        if self._closed:
            raise StoreClosed
        return await self._compactor.compact(to)

    async def status(self) -> StoreStatus:
        """Figures of the store."""
        async with self._driver.read() as tx:
            size, current, floors = await tx.size(), await tx.current(), await read_floors(tx)
            store_id = await tx.store_id()
        self._continuity.saw(current)
        return StoreStatus(
            store_id=store_id,
            database=self._driver.facts.name,
            epoch=floors.epoch,
            current_revision=current,
            applied_revision=self._tail.applied,
            compact_revision=floors.store,
            prefix_floors=floors.by_prefix,
            keys=size.keys,
            log_rows=size.log_rows,
            size_bytes=size.size_bytes,
            leases=size.leases,
            watchers=self.metrics.watchers,
        )

    async def close(self) -> None:
        """End all watches, finish the running batch, refuse what waits, close the database. Twice is fine.

        A database that does not answer is waited for as long as for its lock, `lock_timeout_s`: then writes under way
        raise `WriteOutcomeUnknown`, or `StorageUnavailable` when COMMIT was not sent yet.
        """
        self._refuse_everything()
        async with self._closing:
            try:
                async with asyncio.timeout(self._settings.lock_timeout_s) as limit:
                    await self._jobs.finish("committer")
                    await self._end()
            except TimeoutError:
                if not limit.expired():
                    raise
                log.warning("the database does not answer: the store is closed without it")
                self._committer.give_up()
                self._driver.abandon()
                await self._end()

    async def _end(self) -> None:
        await self._jobs.cancel()
        self._continuity.close()
        await self._driver.close()
