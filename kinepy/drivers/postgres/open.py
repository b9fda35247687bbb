"""Opening a PostgreSQL database, and telling what stands in the way."""

from typing import Final

import asyncpg

from kinepy.clock import Clock
from kinepy.drivers.base import Driver
from kinepy.drivers.postgres.connection import Names, connect, disconnect
from kinepy.drivers.postgres.driver import PostgresDriver
from kinepy.drivers.postgres.errors import DATABASE_ERRORS, open_error
from kinepy.drivers.postgres.read import PREPARED
from kinepy.drivers.url import DatabaseUrl
from kinepy.errors import DatabaseNotKinepy, DatabaseReadOnly, DatabaseUnreachable
from kinepy.settings import Settings
from kinepy.sql import statements

VERSION_MIN: Final = 14


async def open_postgres(database: DatabaseUrl, settings: Settings, clock: Clock) -> Driver:
    """Open a database that was migrated. Raises `DatabaseUnusable`."""
    try:
        connection = await connect(database, settings)
        try:
            await check_server(connection, database)
            if not await connection.fetch(PREPARED[statements.store_id].text):
                raise DatabaseNotKinepy(
                    f"{database.shown} has no store in it: restore it from a backup or name another database"
                )
            names = Names.of_schema(await connection.fetchval("SELECT current_schema()"))
        finally:
            await disconnect(connection)
    except DATABASE_ERRORS as error:
        raise open_error(error, database.shown) from error
    return PostgresDriver(database, names=names, settings=settings, clock=clock)


async def check_server(connection: asyncpg.Connection, database: DatabaseUrl) -> None:
    """Raise with what to do if the server is too old or cannot be written."""
    version = connection.get_server_version()
    if version.major < VERSION_MIN:
        raise DatabaseUnreachable(
            f"{database.shown} is PostgreSQL {version.major}: kinepy needs {VERSION_MIN} or later"
        )
    if await connection.fetchval("SELECT current_setting('transaction_read_only') = 'on'"):
        raise DatabaseReadOnly(f"{database.shown} is read-only: connect to the primary server")
