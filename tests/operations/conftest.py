"""Every command that moves a store is tried between all databases."""

from collections.abc import Callable

import pytest

from tests.backends import DURABLE_BACKENDS, Backend, DatabaseMaker

FreshUrl = Callable[[], str]


@pytest.fixture(params=DURABLE_BACKENDS, ids=lambda backend: f"from-{backend.name}")
def source_url(request: pytest.FixtureRequest, databases: DatabaseMaker) -> str:
    backend: Backend = request.param
    return databases.fresh_url(backend)


@pytest.fixture(params=DURABLE_BACKENDS, ids=lambda backend: f"to-{backend.name}")
def target_url(request: pytest.FixtureRequest, databases: DatabaseMaker) -> str:
    backend: Backend = request.param
    return databases.fresh_url(backend)


@pytest.fixture
def file_url(databases: DatabaseMaker) -> str:
    """A fresh SQLite file, where one database is as good as another."""
    return databases.fresh_url(next(backend for backend in DURABLE_BACKENDS if backend.name == "sqlite-file"))
