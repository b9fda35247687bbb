"""A driver on every kind of database."""

from collections.abc import AsyncIterator

import pytest

from kinepy.drivers.base import Driver
from tests.backends import SHARED_BACKENDS, Backend, DatabaseMaker
from tests.drivers.drivers import opened


@pytest.fixture
async def driver(database_url: str) -> AsyncIterator[Driver]:
    async with opened(database_url) as open_driver:
        yield open_driver


@pytest.fixture(params=SHARED_BACKENDS, ids=lambda backend: backend.name)
def shared_url(request: pytest.FixtureRequest, databases: DatabaseMaker) -> str:
    """A fresh database of each kind that several drivers may open."""
    backend: Backend = request.param
    return databases.fresh_url(backend)


@pytest.fixture
async def pair(shared_url: str) -> AsyncIterator[tuple[Driver, Driver]]:
    """Two drivers on one database, as two processes would have them."""
    async with opened(shared_url) as one, opened(shared_url) as other:
        yield one, other
