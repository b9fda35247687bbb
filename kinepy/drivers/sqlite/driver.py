"""The SQLite driver: one writer connection, some readers, and one connection that is asked without a hop."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from functools import partial
from typing import Final
from weakref import WeakSet

from kinepy.clock import Clock
from kinepy.drivers.base import DriverFacts, Maintenance, ReadTransaction, WriteTransaction
from kinepy.drivers.lasting import to_the_end
from kinepy.drivers.pool import Pool
from kinepy.drivers.sqlite.checkpoint import Checkpointer
from kinepy.drivers.sqlite.connection import Connection, InlineConnection, ThreadConnection, Work, connect_raw
from kinepy.drivers.sqlite.errors import primary_name, translate
from kinepy.drivers.sqlite.identity import FileIdentity, NoFile
from kinepy.drivers.sqlite.maintenance import SqliteMaintenance, file_lock
from kinepy.drivers.sqlite.precedence import have_precedence
from kinepy.drivers.sqlite.queue import NoQueue, Queue
from kinepy.drivers.sqlite.read import PREPARED, SqliteRead, query
from kinepy.drivers.sqlite.write import SqliteWrite
from kinepy.errors import StorageUnavailable, StoreClosed
from kinepy.revision import Revision
from kinepy.settings import Settings
from kinepy.sql import statements

MEMORY_FACTS: Final = DriverFacts(name="sqlite-memory", shared=False, durable=False, server_time=False)
FILE_FACTS: Final = DriverFacts(name="sqlite", shared=True, durable=True, server_time=False)


class SqliteDriver:
    """What both kinds of SQLite database have in common. `_order` is held by whoever may use the writer."""

    facts: DriverFacts

    def __init__(
        self, writer: Connection, *, identity: FileIdentity, queue: Queue, settings: Settings, clock: Clock
    ) -> None:
        self._writer, self._identity, self._queue = writer, identity, queue
        self._settings, self._clock = settings, clock
        self._order = asyncio.Lock()
        self._closed = False

    @asynccontextmanager
    async def write(self, keys: Collection[bytes] = ()) -> AsyncIterator[WriteTransaction]:
        async with self._holding_order():
            tx = SqliteWrite(
                self._writer,
                self._clock,
                identity=self._identity,
                queue=self._queue,
                lock_timeout_s=self._settings.lock_timeout_s,
            )
            try:
                await tx.begin(keys)
                yield tx
            except BaseException:
                tx.abandon()
                await to_the_end(tx.rollback())
                raise
            await to_the_end(tx.commit())
        self._committed()

    def _committed(self) -> None:
        """A write transaction was committed."""

    @asynccontextmanager
    async def _holding_order(self) -> AsyncIterator[None]:
        await self._take_order()
        try:
            if self._closed:
                raise StoreClosed
            yield
        finally:
            self._order.release()

    async def _take_order(self) -> None:
        if not self._order.locked():
            await self._order.acquire()
            return
        try:
            async with asyncio.timeout(self._settings.lock_timeout_s):
                await self._order.acquire()
        except TimeoutError:
            reason = f"the write lock was not free for {self._settings.lock_timeout_s:g} s"
            raise StorageUnavailable(reason) from None

    @asynccontextmanager
    async def precedence(self) -> AsyncIterator[bool]:
        """There is nobody else."""
        yield True

    async def _transact(self, work: Work[int]) -> int:
        """Run work as one write transaction."""
        async with self.write():
            return await self._writer.run(work)

    async def _outside(self, work: Work[int]) -> int:
        """Run work on the writer between transactions."""
        async with self._holding_order():
            return await to_the_end(self._writer.run(work))


class MemoryDriver(SqliteDriver):
    """A database in memory: everything goes through one connection. Readers hold the order lock together, so that
    there is no write under way while one of them reads."""

    facts = MEMORY_FACTS

    def __init__(self, raw: sqlite3.Connection, *, settings: Settings, clock: Clock) -> None:
        connection = InlineConnection(raw)
        super().__init__(connection, identity=NoFile(), queue=NoQueue(), settings=settings, clock=clock)
        self._entrance, self._reading = asyncio.Lock(), 0
        self._maintained = False

    async def close(self) -> None:
        async with self._order:
            self._closed = True
            await self._writer.close()

    def abandon(self) -> None:
        """Nothing hangs in memory."""

    @asynccontextmanager
    async def read(self) -> AsyncIterator[ReadTransaction]:
        async with self._sharing_order():
            yield SqliteRead(self._writer, self._clock, begun=True)

    async def current(self) -> Revision:
        async with self._sharing_order():
            rows = await self._writer.run(lambda raw: query(raw, PREPARED[statements.current], {}))
            return Revision(rows[0][0])

    @asynccontextmanager
    async def _sharing_order(self) -> AsyncIterator[None]:
        async with self._entrance:
            if self._closed:
                raise StoreClosed
            if self._reading == 0:
                await self._take_order()
            self._reading += 1
        try:
            yield
        finally:
            self._reading -= 1
            if self._reading == 0:
                self._order.release()

    @asynccontextmanager
    async def maintenance(self) -> AsyncIterator[Maintenance | None]:
        if self._maintained:
            yield None
            return
        self._maintained = True
        try:
            yield SqliteMaintenance(self._transact, self._outside)
        finally:
            self._maintained = False

    async def wait_for_append(self, *, timeout_s: float) -> bool:
        await self._clock.sleep(timeout_s)
        return False


class FileDriver(SqliteDriver):
    """A database in a file, which other processes may read and write at the same time."""

    facts = FILE_FACTS

    def __init__(
        self,
        writer: ThreadConnection,
        probe: sqlite3.Connection,
        *,
        path: str,
        settings: Settings,
        clock: Clock,
    ) -> None:
        identity, queue = FileIdentity(path), Queue(f"{path}-queue")
        super().__init__(writer, identity=identity, queue=queue, settings=settings, clock=clock)
        self._probe, self._path = probe, path
        self._opened: WeakSet[ThreadConnection] = WeakSet((writer,))
        self._readers: Pool[ThreadConnection] = Pool(
            self._open_reader,
            ThreadConnection.close,
            usable=lambda connection: not connection.raw.in_transaction,
            size=settings.read_connections_max,
            wait_s=settings.statement_timeout_s,
        )
        self._data_version = self._read_data_version()
        self._checkpointer = Checkpointer(
            partial(connect_raw, path, settings, role="checkpoint"), self._holding_order, clock
        )

    def _committed(self) -> None:
        self._checkpointer.committed()

    async def close(self) -> None:
        await self._checkpointer.close()
        async with self._order:
            if self._closed:
                return
            self._closed = True
            await self._readers.close()
            self._probe.close()
            await self._writer.close()
            self._queue.close()

    def abandon(self) -> None:
        self._checkpointer.abandon()
        for connection in tuple(self._opened):
            connection.abandon()

    async def _open_reader(self) -> ThreadConnection:
        self._identity.check()
        try:
            reader = await ThreadConnection.open(
                partial(connect_raw, self._path, self._settings, role="reader"),
                interrupt_after_s=self._settings.statement_timeout_s,
            )
        except sqlite3.Error as error:
            raise translate(error) from error
        self._opened.add(reader)
        return reader

    @asynccontextmanager
    async def read(self) -> AsyncIterator[ReadTransaction]:
        async with self._readers.take() as connection:
            self._identity.check()
            tx = SqliteRead(connection, self._clock)
            try:
                yield tx
            finally:
                await to_the_end(tx.end())

    async def current(self) -> Revision:
        """Asked in the event loop: it reads the ends of two indexes in microseconds, where a hop to a thread takes
        tens of them, and milliseconds when the loop is busy. Readers never wait for writers here."""
        if self._closed:
            raise StoreClosed
        self._identity.check()
        try:
            return Revision(query(self._probe, PREPARED[statements.current], {})[0][0])
        except sqlite3.Error as error:
            if primary_name(error) != "SQLITE_BUSY":
                raise translate(error) from error
        async with self.read() as tx:
            return await tx.current()

    @asynccontextmanager
    async def maintenance(self) -> AsyncIterator[Maintenance | None]:
        with file_lock(f"{self._path}-maintenance") as held:
            checkpointer = self._checkpointer
            yield (
                SqliteMaintenance(self._transact, self._outside, checkpointer=checkpointer) if held else None
            )

    @asynccontextmanager
    async def precedence(self) -> AsyncIterator[bool]:
        async with have_precedence(f"{self._path}-precedence", self._clock) as had:
            yield had

    async def wait_for_append(self, *, timeout_s: float) -> bool:
        """Polls: the number moves on the writer's connection when another connection has committed."""
        deadline = self._clock.monotonic() + timeout_s
        while True:
            if self._closed:
                raise StoreClosed
            if not self._order.locked() and self._others_committed():
                return True
            left = deadline - self._clock.monotonic()
            if left <= 0:
                return False
            await self._clock.sleep(min(left, self._settings.poll_interval_s))

    def _others_committed(self) -> bool:
        self._identity.check()
        try:
            found = self._read_data_version()
        except sqlite3.Error as error:
            raise translate(error) from error
        moved, self._data_version = found != self._data_version, found
        return moved

    def _read_data_version(self) -> int:
        return int(self._writer.raw.execute("PRAGMA data_version").fetchone()[0])
