"""A node's driver: the SQLite driver's own statements, run in the event loop, with a fault point around each.

What it does not share with the real driver is what the simulation must own: waiting for the lock, the commit and
its possible fates, signals, and the right to compact.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Any

from kinepy.clock import Clock
from kinepy.drivers.base import DriverFacts, EpochRow, LeaseRow, LogRow, Maintenance
from kinepy.drivers.sqlite.identity import NoFile
from kinepy.drivers.sqlite.maintenance import SqliteMaintenance
from kinepy.drivers.sqlite.queue import NoQueue
from kinepy.drivers.sqlite.read import PREPARED, SqliteRead, heads_of, leave, query
from kinepy.drivers.sqlite.write import SqliteWrite
from kinepy.errors import StorageUnavailable, StoreClosed, WriteOutcomeUnknown
from kinepy.keys import KeyRange
from kinepy.revision import Revision
from kinepy.sql import statements
from tests.simulation.database import SimConnection, SimDatabase
from tests.simulation.faults import ConnectionBroke, Fault
from tests.simulation.reference import Commit

_PAUSE_FIRST_S, _PAUSE_MAX_S = 0.001, 0.03


class SimRead(SqliteRead):
    """The product's read transaction; its snapshot is taken when it is opened."""

    async def begin(self) -> None:
        """Take the snapshot."""
        await self._connection.run(self._take)

    def _take(self, raw: sqlite3.Connection) -> None:
        self._enter(raw)
        query(raw, PREPARED[statements.current], {})


class SimWrite(SqliteWrite):
    """The product's write transaction, which also notes what it is going to commit."""

    def __init__(self, connection: SimConnection, clock: Clock) -> None:
        super().__init__(connection, clock, identity=NoFile(), queue=NoQueue(), lock_timeout_s=0.0)
        self.connection = connection
        self.rows: list[LogRow] = []
        self.leases_put: list[LeaseRow] = []
        self.leases_gone: list[int] = []
        self.floors_put: list[tuple[bytes, Revision]] = []
        self.epochs_put: list[EpochRow] = []
        self.lineage = connection.lineage
        self.notifies = False
        self.asked_us: int | None = None
        """the time by which the transaction decided; the clock may have jumped since"""

    async def read_heads(self, keys: Collection[bytes]) -> None:
        """Read what every batch needs; the lock is held."""
        wanted = tuple(keys)

        def work(raw: sqlite3.Connection) -> None:
            revision, self.committed_at = query(raw, PREPARED[statements.position], {})[0]
            self.revision = Revision(revision)
            self.heads_of = heads_of(raw, wanted)

        await self.connection.step("position", work)

    async def now_us(self) -> int:
        self.asked_us = await super().now_us()
        return self.asked_us

    async def flush(self) -> None:
        """Do what is pending."""
        await self.connection.step("append", self._enter)

    async def append(self, rows: Sequence[LogRow], *, notify: bool = True) -> None:
        self.rows.extend(rows)
        self.notifies = self.notifies or notify
        await super().append(rows, notify=notify)

    async def put_lease(self, lease: LeaseRow) -> None:
        self.leases_put.append(lease)
        await super().put_lease(lease)

    async def delete_leases(self, leases: Collection[int]) -> None:
        self.leases_gone.extend(leases)
        await super().delete_leases(leases)

    async def put_epoch(self, epoch: EpochRow) -> None:
        self.epochs_put.append(epoch)
        await super().put_epoch(epoch)

    async def put_floor(self, prefix: bytes, revision: Revision) -> None:
        self.floors_put.append((prefix, revision))
        await super().put_floor(prefix, revision)

    async def run(self, work: Any) -> int:
        """Run the compactor's work inside the transaction."""
        return int(await self.connection.step("maintenance", work))


class SimMaintenance(SqliteMaintenance):
    """The product's compaction statements, in the one session that holds the right to compact."""

    def __init__(self, driver: "SimDriver") -> None:
        super().__init__(self._in_session, self._in_session)
        self._driver = driver
        self._generation = driver.database.generation

    def _check_session(self) -> None:
        if self._generation != self._driver.database.generation:
            raise StorageUnavailable("the session that held the right to compact is gone")

    async def _in_session(self, work: Any) -> int:
        async with self._driver.write() as tx:
            self._check_session()
            return await tx.run(work)

    async def put_floor(self, prefix: bytes, revision: Revision) -> None:
        async with self._driver.write() as tx:
            self._check_session()
            await tx.put_floor(prefix, revision)
            tx.notifies = True

    async def delete_superseded(
        self, key_range: KeyRange, *, after: Revision, upto: Revision, floor: Revision
    ) -> int:
        gone = await super().delete_superseded(key_range, after=after, upto=upto, floor=floor)
        if gone:
            self._driver.database.trace(
                f"{self._driver.node} compacts ({after}, {upto}] below {floor}: {gone} rows"
            )
        return gone

    async def reclaim(self) -> None:
        """Pages are not what is simulated."""


class SimDriver:
    """One node's way to the database."""

    def __init__(self, database: SimDatabase, node: str, *, clock: Clock, lock_timeout_s: float) -> None:
        mode = database.mode
        self.facts = DriverFacts(
            name=f"simulated {mode.name}",
            shared=True,
            durable=True,
            server_time=mode.server_time,
            servers_change=mode.servers_change,
        )
        self.database, self.node = database, node
        self._clock: Clock = database.clock if mode.server_time else clock
        self._lock_timeout_s = lock_timeout_s
        self._signal = asyncio.Event()
        self._idle: list[SimConnection] = []
        self._closed = False
        database.listeners[node] = self._signal.set

    async def close(self) -> None:
        self._closed = True
        self.database.listeners.pop(self.node, None)
        for connection in self._idle:
            connection.drop()

    def abandon(self) -> None:
        """Everything ends by itself, in simulated time."""

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[SimConnection]:
        if self._closed:
            raise StoreClosed
        if self.node in self.database.dead:
            raise StorageUnavailable("the process is dead")
        connection = None
        while self._idle and (connection is None or not connection.usable):
            connection = self._idle.pop()
        if connection is None or not connection.usable:
            connection = self.database.open(self.node)
        try:
            yield connection
        finally:
            self._put_back(connection)

    def _put_back(self, connection: SimConnection) -> None:
        if not connection.usable:
            return
        leave(connection.raw)
        if self._closed:
            connection.drop()
        else:
            self._idle.append(connection)

    @asynccontextmanager
    async def read(self) -> AsyncIterator[SimRead]:
        async with self._connection() as connection:
            tx = SimRead(connection, self._clock)
            await tx.begin()
            yield tx

    async def current(self) -> Revision:
        async with self._connection() as connection:
            rows = await connection.run(lambda raw: query(raw, PREPARED[statements.current], {}))
            return Revision(rows[0][0])

    # --- writing

    @asynccontextmanager
    async def write(self, keys: Collection[bytes] = ()) -> AsyncIterator[SimWrite]:
        async with self._connection() as connection:
            tx = SimWrite(connection, self._clock)
            await self.begin(tx, keys)
            yield tx
            await self.commit(tx)

    async def begin(self, tx: SimWrite, keys: Collection[bytes]) -> None:
        """Take the order lock, then read."""
        await self.lock(tx)
        await tx.read_heads(keys)

    async def lock(self, tx: SimWrite) -> None:
        """Take the order lock, or raise `StorageUnavailable` after the timeout."""
        loop, random = self.database.loop, self.database.faults.random
        deadline, pause = loop.time() + self._lock_timeout_s, _PAUSE_FIRST_S
        while not await tx.connection.step("lock", _try_lock):
            if loop.time() >= deadline:
                raise StorageUnavailable("another node held the order lock for too long")
            await asyncio.sleep(pause * (0.5 + random.random()))
            pause = min(pause * 1.5, _PAUSE_MAX_S)

    async def commit(self, tx: SimWrite) -> None:
        """Commit, unless a fault decides otherwise."""
        faults, connection = self.database.faults, tx.connection
        await tx.flush()
        if self.database.is_full():
            raise StorageUnavailable("the disk is full")
        try:
            await connection.point("commit:before")
        except ConnectionBroke:
            connection.drop()
            raise StorageUnavailable("the connection broke before COMMIT") from None
        self._lose_commit(tx)
        connection.raw.execute("COMMIT")
        self.committed(tx)
        try:
            await connection.point("commit:after")
        except ConnectionBroke:
            connection.drop()
            raise WriteOutcomeUnknown("the connection broke after COMMIT") from None
        if faults.happens(Fault.LOST_REPLY):
            connection.drop()
            raise WriteOutcomeUnknown("the answer to COMMIT was lost")

    def _lose_commit(self, tx: SimWrite) -> None:
        faults, connection = self.database.faults, tx.connection
        if faults.happens(Fault.LOST_COMMIT):
            connection.drop()
            raise WriteOutcomeUnknown("the connection broke at COMMIT")
        if self.database.mode.late_commits and faults.happens(Fault.LATE_COMMIT):
            self.database.end_later(connection, lambda: self.committed(tx))
            raise WriteOutcomeUnknown("the connection broke at COMMIT")

    def committed(self, tx: SimWrite) -> None:
        """What was just committed becomes part of the truth."""
        commit = Commit(
            node=self.node,
            now_us=self._clock.now_us() if tx.asked_us is None else tx.asked_us,
            rows=tuple(tx.rows),
            leases=tuple(tx.leases_put),
            leases_gone=tuple(tx.leases_gone),
            floors=tuple(tx.floors_put),
            epochs=tuple(tx.epochs_put),
        )
        self.database.committed(commit, notify=tx.notifies)

    # --- the rest

    @asynccontextmanager
    async def precedence(self) -> AsyncIterator[bool]:
        """Everybody goes first: nothing depends on it."""
        yield True

    @asynccontextmanager
    async def maintenance(self) -> AsyncIterator[Maintenance | None]:
        database = self.database
        if database.maintainer or database.faults.happens(Fault.STALLED_COMPACTOR):
            yield None
            return
        database.maintainer = self.node
        try:
            yield SimMaintenance(self)
        finally:
            if database.maintainer == self.node:
                database.maintainer = ""

    async def wait_for_append(self, *, timeout_s: float) -> bool:
        if self._closed:
            raise StoreClosed
        try:
            await self.database.faults.point(self.node, "wait")
            async with asyncio.timeout(timeout_s):
                await self._signal.wait()
        except ConnectionBroke:
            raise StorageUnavailable("the connection broke") from None
        except TimeoutError:
            return False
        self._signal.clear()
        return True


def _try_lock(raw: sqlite3.Connection) -> bool:
    try:
        raw.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise
        return False
    return True
