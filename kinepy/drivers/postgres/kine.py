"""Reading a kine's database on PostgreSQL, beside a kine that may be running on it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import asyncpg

from kinepy.drivers.kine import KineRow
from kinepy.drivers.postgres.connection import connect, disconnect
from kinepy.drivers.postgres.errors import DATABASE_ERRORS, open_error, translated
from kinepy.drivers.postgres.read import BEGIN_SNAPSHOT, PREPARED
from kinepy.drivers.url import DatabaseUrl
from kinepy.errors import DatabaseNotKinepy
from kinepy.settings import Settings
from kinepy.sql import kine


class KineServer:
    """A snapshot of the table, in one read-only transaction."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def current(self) -> tuple[int, int]:
        with translated():
            row = await self._connection.fetchrow(PREPARED[kine.current].text)
        return int(row[0]), int(row[1])

    async def live(self, *, after: int, limit: int) -> Sequence[KineRow]:
        prepared = PREPARED[kine.live]
        with translated():
            rows = await self._connection.fetch(
                prepared.text, *prepared.args({"after": after, "limit": limit})
            )
        return [KineRow._make(row) for row in rows]


@asynccontextmanager
async def open_kine_postgres(database: DatabaseUrl, settings: Settings) -> AsyncIterator[KineServer]:
    """A snapshot of a database. Raises `DatabaseUnusable` for one that is no kine's."""
    try:
        connection = await connect(database, settings, unlimited=True)
    except DATABASE_ERRORS as error:
        raise open_error(error, database.shown) from error
    try:
        try:
            await connection.execute(BEGIN_SNAPSHOT)
            found = await connection.fetchval("SELECT to_regclass('kine')")
        except DATABASE_ERRORS as error:
            raise open_error(error, database.shown) from error
        if found is None:
            raise DatabaseNotKinepy(f"{database.shown} has no table kine: name the database of a kine")
        yield KineServer(connection)
    finally:
        await disconnect(connection)
