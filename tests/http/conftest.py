"""What the HTTP tests share: handlers and the application over fresh stores."""

from collections.abc import AsyncIterator

import pytest

from kinepy import open_store
from kinepy_server.context import Context
from kinepy_server.resources.builtins import builtin_registry
from kinepy_server.server_settings import ServerSettings
from tests.http.writing import Api, api_over


@pytest.fixture
async def context(database_url: str) -> AsyncIterator[Context]:
    """What handlers share, over a fresh store of each kind."""
    async with open_store(database_url) as store:
        yield Context(store, builtin_registry())


@pytest.fixture
async def impatient() -> AsyncIterator[Context]:
    """A context whose reads do not wait long for the future."""
    async with open_store("sqlite:///:memory:") as store:
        yield Context(store, builtin_registry(), ServerSettings(future_revision_wait_s=0.05))


@pytest.fixture
async def hasty() -> AsyncIterator[Context]:
    """A context whose watches get bookmarks all the time."""
    async with open_store("sqlite:///:memory:") as store:
        yield Context(store, builtin_registry(), ServerSettings(bookmark_interval_s=0.02))


@pytest.fixture
async def api(context: Context) -> AsyncIterator[Api]:
    """The application over a fresh store of each kind."""
    async with api_over(context) as found:
        yield found


@pytest.fixture
async def memory_api() -> AsyncIterator[Api]:
    """The application over memory: for what is decided before the database is asked."""
    async with (
        open_store("sqlite:///:memory:") as store,
        api_over(Context(store, builtin_registry())) as found,
    ):
        yield found
