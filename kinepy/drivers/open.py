"""From a URL to an open driver."""

import importlib.util

from kinepy.clock import Clock
from kinepy.drivers.base import Driver
from kinepy.drivers.url import parse_url
from kinepy.errors import BadDatabaseUrl
from kinepy.settings import Settings

INSTALL_POSTGRES = "PostgreSQL needs the package asyncpg: run pip install 'kinepy[postgres]'"


async def open_driver(url: str, settings: Settings, clock: Clock) -> Driver:
    """Open a migrated database. A database in memory is made on the spot. Raises `DatabaseUnusable`."""
    database = parse_url(url)
    if database.kind == "sqlite":
        from kinepy.drivers.sqlite import open_file, open_memory

        return (
            open_memory(settings, clock)
            if database.is_memory
            else await open_file(database.target, settings, clock)
        )
    require_postgres()
    from kinepy.drivers.postgres.open import open_postgres

    return await open_postgres(database, settings, clock)


def require_postgres() -> None:
    """Raise `BadDatabaseUrl` with what to install when the extra for PostgreSQL is missing."""
    if importlib.util.find_spec("asyncpg") is None:
        raise BadDatabaseUrl(INSTALL_POSTGRES)
