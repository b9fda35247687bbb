"""The PostgreSQL driver: a connection for writes, some for reads, and one each to ask, listen and compact."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Final
from uuid import uuid4
from weakref import WeakSet

import asyncpg

from kinepy.clock import Clock
from kinepy.drivers.base import DriverFacts, Maintenance, ReadTransaction, WriteTransaction
from kinepy.drivers.lasting import to_the_end
from kinepy.drivers.pool import Pool
from kinepy.drivers.postgres.connection import Names, connect_patiently, lineage_of, quote_text, roll_back
from kinepy.drivers.postgres.errors import DATABASE_ERRORS, translated
from kinepy.drivers.postgres.line import Line
from kinepy.drivers.postgres.listen import Listener
from kinepy.drivers.postgres.maintenance import PostgresMaintenance
from kinepy.drivers.postgres.read import BEGIN_SNAPSHOT, PREPARED, PostgresRead
from kinepy.drivers.postgres.write import PostgresWrite, lock_statement
from kinepy.drivers.unknown import UnknownBatches
from kinepy.drivers.url import DatabaseUrl
from kinepy.errors import StoreClosed
from kinepy.revision import Revision
from kinepy.settings import Settings
from kinepy.sql import statements

PRECEDENCE_WAIT_MS: Final = 2000
FACTS: Final = DriverFacts(name="postgres", shared=True, durable=True, server_time=True, servers_change=True)


class PostgresDriver:
    """A PostgreSQL database, which any number of processes may write at once."""

    facts = FACTS

    def __init__(self, database: DatabaseUrl, *, names: Names, settings: Settings, clock: Clock) -> None:
        self._database, self._names = database, names
        self._settings, self._clock = settings, clock
        self._token = uuid4().hex
        self._unknown = UnknownBatches()
        self._lineage: str | None = None
        self._lines: WeakSet[Line] = WeakSet()
        self._writers = self._pool(1, self._connect_writer, wait_s=settings.lock_timeout_s)
        self._readers = self._pool(settings.read_connections_max)
        self._askers = self._pool(1)
        self._maintainers = self._pool(1)
        self._contenders = self._pool(1)
        self._listener = Listener(
            self._connect,
            self._notify,
            channel=names.channel,
            token=self._token,
            settings=settings,
            clock=clock,
        )
        self._closed = self._maintained = False
        self._listener.start()

    async def _connect(self, patience_s: float = 0.0) -> asyncpg.Connection:
        return await connect_patiently(self._database, self._settings, self._clock, patience_s=patience_s)

    async def _connect_reader(self) -> asyncpg.Connection:
        return await self._connect(self._settings.reconnect_backoff_max_s)

    async def _connect_writer(self) -> asyncpg.Connection:
        """The one connection that writes. Its server is identified: another one may have taken over."""
        settings = self._settings
        limit_s = min(settings.statement_timeout_s, settings.write_timeout_s)
        connection = await connect_patiently(
            self._database,
            replace(settings, statement_timeout_s=limit_s),
            self._clock,
            patience_s=settings.lock_timeout_s,
        )
        try:
            with translated():
                self._lineage = await lineage_of(connection)
        except BaseException:
            connection.terminate()
            raise
        return connection

    def _pool(
        self,
        size: int,
        connect: Callable[[], Awaitable[asyncpg.Connection]] | None = None,
        *,
        wait_s: float | None = None,
    ) -> Pool[Line]:
        async def open_line() -> Line:
            line = Line(connect or self._connect_reader)
            self._lines.add(line)
            return line

        return Pool(
            open_line,
            Line.close,
            usable=lambda line: line.usable,
            size=size,
            wait_s=self._settings.statement_timeout_s if wait_s is None else wait_s,
        )

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await self._listener.close()
        for pool in (self._writers, self._readers, self._askers, self._maintainers, self._contenders):
            await pool.close()

    def abandon(self) -> None:
        for line in tuple(self._lines):
            line.abandon()

    @asynccontextmanager
    async def read(self) -> AsyncIterator[ReadTransaction]:
        async with self._readers.take() as line:
            connection = await line.begin(partial(_first, BEGIN_SNAPSHOT))
            tx = PostgresRead(connection, self._unknown)
            try:
                yield tx
            finally:
                await to_the_end(tx.end())

    @asynccontextmanager
    async def write(self, keys: Collection[bytes] = ()) -> AsyncIterator[WriteTransaction]:
        async with self._writers.take() as line:
            connection = await line.begin(partial(_first, lock_statement(self._names)))
            tx = PostgresWrite(
                connection, self._unknown, names=self._names, token=self._token, lineage=self._lineage
            )
            try:
                await tx.begin(keys)
                yield tx
            except BaseException:
                await to_the_end(tx.rollback())
                raise
            await to_the_end(tx.commit())

    async def current(self) -> Revision:
        prepared = PREPARED[statements.current]
        async with self._askers.take() as line:
            return Revision(await line.begin(lambda connection: connection.fetchval(prepared.text)))

    @asynccontextmanager
    async def maintenance(self) -> AsyncIterator[Maintenance | None]:
        if self._maintained:
            # The database would give the lock to the same session again.
            yield None
            return
        self._maintained = True
        try:
            async with self._maintenance_lock() as held:
                yield held
        finally:
            self._maintained = False

    @asynccontextmanager
    async def _maintenance_lock(self) -> AsyncIterator[Maintenance | None]:
        lock = self._names.maintenance_lock
        async with self._maintainers.take() as line:
            idle_ms = int(self._settings.statement_timeout_s * 1000)
            connection, held = await line.begin(partial(_try_lock, lock, idle_ms))
            try:
                yield PostgresMaintenance(connection, self._tell_of_floor) if held else None
            finally:
                if held:
                    await to_the_end(_unlock(connection, lock))

    @asynccontextmanager
    async def precedence(self) -> AsyncIterator[bool]:
        """A lock of a transaction: the server ends one whose process stands still."""
        lock = self._names.precedence_lock
        statement = (
            f"BEGIN; SET LOCAL lock_timeout = '{PRECEDENCE_WAIT_MS}ms'; SELECT pg_advisory_xact_lock({lock})"
        )
        async with self._contenders.take() as line:
            connection = await line.begin(partial(_first, statement))
            try:
                yield True
            finally:
                await to_the_end(roll_back(connection))

    async def wait_for_append(self, *, timeout_s: float) -> bool:
        if self._closed:
            raise StoreClosed
        return await self._listener.wait(timeout_s=timeout_s)

    async def _tell_of_floor(self) -> None:
        await self._notify(f"{self._token} floor")

    async def _notify(self, payload: str) -> None:
        text = f"SELECT pg_notify({quote_text(self._names.channel)}, {quote_text(payload)})"
        async with self._askers.take() as line:
            await line.begin(partial(_first, text))


async def _first(statement: str, connection: asyncpg.Connection) -> asyncpg.Connection:
    """Run a statement; returns the connection on which it was run."""
    try:
        await connection.execute(statement)
    except BaseException:
        # Also when the caller is cancelled while it waits for a lock.
        if not connection.is_closed():
            await to_the_end(roll_back(connection))
        raise
    return connection


async def _try_lock(
    lock: int, idle_ms: int, connection: asyncpg.Connection
) -> tuple[asyncpg.Connection, bool]:
    """Try to have a session's lock. A session that stands still for so long with it is ended."""
    try:
        held = bool(await connection.fetchval(f"SELECT pg_try_advisory_lock({lock})"))
        if held:
            await connection.execute(f"SELECT set_config('idle_session_timeout', '{idle_ms}', false)")
        return connection, held
    except BaseException:
        # The session may have the lock, and nobody would give it back.
        connection.terminate()
        raise


async def _unlock(connection: asyncpg.Connection, lock: int) -> None:
    """Give a session's lock back; a connection that cannot is closed, which gives it back too."""
    if connection.is_closed():
        return
    try:
        await connection.execute(
            f"SELECT set_config('idle_session_timeout', '0', false); SELECT pg_advisory_unlock({lock})"
        )
    except DATABASE_ERRORS:
        connection.terminate()
