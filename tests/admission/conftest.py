"""The application with its followers, over a fresh store in memory."""

from collections.abc import AsyncIterator

import pytest

from kinepy import open_store
from kinepy_server.context import Context
from kinepy_server.resources.builtins import builtin_registry
from tests.http.writing import Api, api_over


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    """Serves; webhooks and policies are followed."""
    async with (
        open_store("sqlite:///:memory:") as store,
        api_over(Context(store, builtin_registry())) as found,
    ):
        yield found
