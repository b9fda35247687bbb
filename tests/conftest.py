"""Databases for every test that wants one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.backends import BACKENDS, Backend, CreatePostgres, DatabaseMaker, postgres_databases


@pytest.fixture(scope="session")
def create_postgres() -> Iterator[CreatePostgres]:
    """Makes PostgreSQL databases on one server for the whole run."""
    with postgres_databases() as create:
        yield create


@pytest.fixture(scope="session")
def postgres_url(create_postgres: CreatePostgres) -> str:
    """One migrated PostgreSQL database for the whole run."""
    return create_postgres(True)


@pytest.fixture
def databases(request: pytest.FixtureRequest, tmp_path: Path) -> DatabaseMaker:
    """Makes fresh databases of any kind."""
    return DatabaseMaker(tmp_path, lambda: request.getfixturevalue("create_postgres"))


@pytest.fixture(params=BACKENDS, ids=lambda backend: backend.name)
def backend(request: pytest.FixtureRequest) -> Backend:
    """Each kind of database in turn."""
    found: Backend = request.param
    return found


@pytest.fixture
def database_url(databases: DatabaseMaker, backend: Backend) -> str:
    """A fresh database of the kind in turn."""
    return databases.fresh_url(backend)
