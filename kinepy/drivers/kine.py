"""The seam to a kine database, which is only read."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple, Protocol

from kinepy.drivers.open import require_postgres
from kinepy.drivers.url import parse_url
from kinepy.errors import BadDatabaseUrl
from kinepy.settings import Settings


class KineRow(NamedTuple):
    """One row of kine's table. `lease` is a time to live in seconds; `create_revision` is 0 on the creating row."""

    id: int
    name: str
    created: int
    create_revision: int
    prev_revision: int
    lease: int
    value: bytes | None


class KineSnapshot(Protocol):
    """One snapshot of a kine database."""

    async def current(self) -> tuple[int, int]:
        """The newest id of any row, 0 when there is none, and how many rows there are."""
        ...

    async def live(self, *, after: int, limit: int) -> Sequence[KineRow]:
        """The rows of live keys with id > after, by id."""
        ...


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
