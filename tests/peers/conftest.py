"""Every database that several processes may share, with two stores on it as two processes would have them."""

from collections.abc import AsyncIterator

import pytest

from kinepy import Store
from tests.backends import SHARED_BACKENDS, Backend, DatabaseMaker
from tests.contract.stores import checked_store


@pytest.fixture(params=SHARED_BACKENDS, ids=lambda backend: backend.name)
def shared_url(request: pytest.FixtureRequest, databases: DatabaseMaker) -> str:
    """A fresh database that several stores may open."""
    backend: Backend = request.param
    return databases.fresh_url(backend)


@pytest.fixture
async def two_stores(shared_url: str) -> AsyncIterator[tuple[Store, Store]]:
    """Two stores on one database."""
    async with checked_store(shared_url) as one, checked_store(shared_url) as other:
        yield one, other
