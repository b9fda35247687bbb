"""The one place that puts the layers together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kinepy.settings import Settings
from kinepy.store import Store


@asynccontextmanager
async def open_store(url: str, settings: Settings | None = None) -> AsyncIterator[Store]:
    """Open the store at a database URL, migrating its schema first; closes it at the end.

    URLs: `sqlite:///relative.db`, `sqlite:////absolute.db`, `sqlite:///:memory:`,
    `postgresql://user:password@host:port/name`. Raises `DatabaseUnusable` with a line that says what to do.
    """
    raise NotImplementedError
    yield
