"""What the tests of aggregation share: an application, and a backend for it."""

from collections.abc import AsyncIterator

import pytest

from kinepy import open_store
from kinepy_server.context import Context
from kinepy_server.discovery import discovery_pages
from kinepy_server.openapi import openapi_pages
from kinepy_server.resources.builtins import builtin_registry
from tests.aggregation.backend import Backend, running_backend
from tests.http.writing import Api, api_over

PAGES = [*discovery_pages(), *openapi_pages()]


@pytest.fixture
async def context(database_url: str) -> AsyncIterator[Context]:
    """What handlers share, over a fresh store of each kind."""
    async with open_store(database_url) as store:
        yield Context(store, builtin_registry())


@pytest.fixture
async def api(context: Context) -> AsyncIterator[Api]:
    """The application over a fresh store of each kind."""
    async with api_over(context, pages=PAGES) as found:
        yield found


@pytest.fixture
async def memory() -> AsyncIterator[Context]:
    """What handlers share, over memory."""
    async with open_store("sqlite:///:memory:") as store:
        yield Context(store, builtin_registry())


@pytest.fixture
async def memory_api(memory: Context) -> AsyncIterator[Api]:
    """The application over memory: for what has nothing to do with the database."""
    async with api_over(memory, pages=PAGES) as found:
        yield found


@pytest.fixture
async def flunders() -> AsyncIterator[Backend]:
    """A running backend."""
    async with running_backend() as found:
        yield found
