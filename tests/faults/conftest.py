"""Fault tests start their own PostgreSQL, since they stop it."""

from collections.abc import Iterator

import pytest

from tests.faults.databases import Database
from tests.postgres_server import PostgresServer


@pytest.fixture(scope="session")
def faults_postgres() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.fixture
def own_postgres(faults_postgres: PostgresServer) -> PostgresServer:
    """A PostgreSQL that the test may stop; it must be running again afterwards."""
    return faults_postgres


@pytest.fixture(params=["sqlite-file", "postgres"])
def database(request: pytest.FixtureRequest) -> Database:
    if request.param == "sqlite-file":
        return Database(request.param, None)
    postgres: PostgresServer = request.getfixturevalue("faults_postgres")
    return Database(request.param, postgres.create_database())
