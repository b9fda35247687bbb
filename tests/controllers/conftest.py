"""What the tests of controllers share: servers over fresh stores."""

from collections.abc import AsyncIterator

import pytest

from kinepy import open_store
from kinepy_server.context import Context
from kinepy_server.resources.builtins import builtin_registry
from kinepy_server.server_settings import ServerSettings
from tests.backends import SHARED_BACKENDS, DatabaseMaker
from tests.contract.stores import FAST
from tests.http.writing import Api, api_over

SETTINGS = ServerSettings(namespace_retry_s=0.02)


@pytest.fixture
async def context(database_url: str) -> AsyncIterator[Context]:
    """What handlers share, over a fresh store of each kind."""
    async with open_store(database_url, FAST) as store:
        yield Context(store, builtin_registry(), SETTINGS)


@pytest.fixture(params=SHARED_BACKENDS, ids=lambda backend: backend.name)
async def two_contexts(
    request: pytest.FixtureRequest, databases: DatabaseMaker
) -> AsyncIterator[tuple[Context, Context]]:
    """Two servers, as two processes would be, on one database."""
    url = databases.fresh_url(request.param)
    async with open_store(url, FAST) as one, open_store(url, FAST) as other:
        yield Context(one, builtin_registry(), SETTINGS), Context(other, builtin_registry(), SETTINGS)


@pytest.fixture
async def api(context: Context) -> AsyncIterator[Api]:
    """The application over a fresh store of each kind, without controllers."""
    async with api_over(context) as found:
        yield found
