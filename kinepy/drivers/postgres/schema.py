"""Making and upgrading the schema on PostgreSQL."""

from collections.abc import Callable
from functools import partial
from typing import Final
from uuid import uuid4

import asyncpg
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from kinepy.clock import Clock
from kinepy.drivers.postgres.connection import Names, connect, disconnect, quote_name
from kinepy.drivers.postgres.errors import DATABASE_ERRORS, open_error
from kinepy.drivers.postgres.open import check_server
from kinepy.drivers.postgres.read import PREPARED
from kinepy.drivers.postgres.write import UPSERTS
from kinepy.drivers.schema import TABLE_NAMES, needs_migration, not_kinepy
from kinepy.drivers.url import DatabaseUrl
from kinepy.settings import Settings
from kinepy.sql.seed import seed_rows
from kinepy.sql.tables import VERSION_TABLE

Upgrade = Callable[[Connection], None]

_TABLES: Final = (
    "SELECT relname FROM pg_class"
    " WHERE relnamespace = to_regnamespace(current_schema()::text) AND relkind = 'r'"
)
_CURRENT_SCHEMA: Final = "SELECT coalesce(current_schema(), '')"


async def migrate_postgres(
    database: DatabaseUrl, settings: Settings, *, clock: Clock, upgrade: Upgrade
) -> bool:
    """Make or upgrade the schema; returns whether there was anything to do."""
    try:
        connection = await connect(database, settings, unlimited=True)
        try:
            if not needs_migration(await _version(connection, database), shown=database.shown):
                return False
            await check_server(connection, database)
            return await _migrate_alone(connection, database, settings, clock=clock, upgrade=upgrade)
        finally:
            await disconnect(connection)
    except DATABASE_ERRORS as error:
        raise open_error(error, database.shown) from error


async def _migrate_alone(
    connection: asyncpg.Connection,
    database: DatabaseUrl,
    settings: Settings,
    *,
    clock: Clock,
    upgrade: Upgrade,
) -> bool:
    """Wait until no other process migrates the schema, then do what is still missing."""
    schema = settings.postgres_schema or await connection.fetchval(_CURRENT_SCHEMA)
    # The lock belongs to the session and ends with the connection.
    await connection.execute(f"SELECT pg_advisory_lock({Names.of_schema(schema).migration_lock})")
    if not needs_migration(await _version(connection, database), shown=database.shown):
        return False
    if settings.postgres_schema is not None:
        await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quote_name(settings.postgres_schema)}")
    await _upgrade(database, settings, clock=clock, upgrade=upgrade)
    return True


async def _version(connection: asyncpg.Connection, database: DatabaseUrl) -> str | None:
    """The schema's version; None for none. Raises `DatabaseNotKinepy` when other tables have our names."""
    names = {row[0] for row in await connection.fetch(_TABLES)}
    if VERSION_TABLE in names:
        version = await connection.fetchval(f"SELECT version_num FROM {VERSION_TABLE}")
        return None if version is None else str(version)
    if taken := names & TABLE_NAMES:
        raise not_kinepy(database.shown, list(taken))
    return None


async def _upgrade(database: DatabaseUrl, settings: Settings, *, clock: Clock, upgrade: Upgrade) -> None:
    """Run the migrations and put in the first rows, in one transaction."""
    engine = create_async_engine(
        "postgresql+asyncpg://",
        async_creator=partial(connect, database, settings, unlimited=True),
        poolclass=NullPool,
    )
    try:
        async with engine.begin() as connection:
            await connection.run_sync(upgrade)
            for statement, row in seed_rows(UPSERTS, store_id=str(uuid4()), now_us=clock.now_us()):
                parameters = dict(zip(PREPARED[statement].names, row, strict=True))
                await connection.execute(statement, parameters)
    except DBAPIError as error:
        # SQLAlchemy wraps twice: in the error of its adapter and in its own.
        cause = error.orig.__cause__ if error.orig is not None else None
        raise open_error(cause or error, database.shown) from error
    finally:
        await engine.dispose()
