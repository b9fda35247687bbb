"""An open store on each kind of database."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

import pytest

from kinepy import Settings, Store
from tests.backends import DURABLE_BACKENDS, SHARED_BACKENDS, Backend, DatabaseMaker
from tests.contract.stores import checked_store

OpenStore = Callable[[Settings], AbstractAsyncContextManager[Store]]


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[Store]:
    """An open, empty store on each kind of database in turn."""
    async with checked_store(database_url) as store:
        yield store


@pytest.fixture
def open_with(database_url: str) -> OpenStore:
    """Opens a store with settings of the test's own."""
    return lambda settings: checked_store(database_url, settings)


@pytest.fixture(params=DURABLE_BACKENDS, ids=lambda backend: backend.name)
def durable_url(request: pytest.FixtureRequest, databases: DatabaseMaker) -> str:
    """A fresh database that can be closed and opened again."""
    backend: Backend = request.param
    return databases.fresh_url(backend)


@pytest.fixture(params=SHARED_BACKENDS, ids=lambda backend: backend.name)
async def two_stores(
    request: pytest.FixtureRequest, databases: DatabaseMaker
) -> AsyncIterator[tuple[Store, Store]]:
    """Two stores, as two processes would have them, on one database."""
    url = databases.fresh_url(request.param)
    async with checked_store(url) as one, checked_store(url) as other:
        yield one, other
