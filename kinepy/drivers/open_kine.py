"""From a URL to a snapshot of a kine database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kinepy.drivers.kine import KineSnapshot
from kinepy.drivers.open import require_postgres
from kinepy.drivers.url import parse_url
from kinepy.errors import BadDatabaseUrl
from kinepy.settings import Settings


@asynccontextmanager
async def open_kine(url: str, settings: Settings) -> AsyncIterator[KineSnapshot]:
    """A snapshot of the kine database at a URL. Raises `DatabaseUnusable`, `StorageUnavailable`."""
    database = parse_url(url)
    if database.is_memory:
        raise BadDatabaseUrl("a kine database in memory cannot be read: name its file or its server")
    if database.kind == "sqlite":
        from kinepy.drivers.sqlite.kine import open_kine_file

        async with open_kine_file(database.target) as snapshot:
            yield snapshot
        return
    require_postgres()
    from kinepy.drivers.postgres.kine import open_kine_postgres

    async with open_kine_postgres(database, settings) as server_snapshot:
        yield server_snapshot
