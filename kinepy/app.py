"""The one place that puts the layers together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random, SystemRandom

from kinepy.clock import Clock, SystemClock
from kinepy.drivers.open import open_driver
from kinepy.migrate import migrate
from kinepy.settings import Settings
from kinepy.store import Store


@asynccontextmanager
async def open_store(
    url: str, settings: Settings | None = None, *, clock: Clock | None = None, random: Random | None = None
) -> AsyncIterator[Store]:
    """Open the store at a database URL, migrating its schema first; closes it at the end.

    URLs: `sqlite:///relative.db`, `sqlite:////absolute.db`, `sqlite:///:memory:`,
    `postgresql://user:password@host:port/name`. Raises `DatabaseUnusable` with a line that says what to do.
    """
    settings, clock = settings or Settings(), clock or SystemClock()
    await migrate(url, settings, clock)
    driver = await open_driver(url, settings, clock)
    store = Store(driver, settings=settings, clock=clock, random=random or SystemRandom())
    try:
        await store.start()
        yield store
    finally:
        await store.close()
