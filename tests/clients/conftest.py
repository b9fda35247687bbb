"""A server process in its safe default (TLS, tokens, RBAC, all controllers) for each database, and namespaces in it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.backends import CreatePostgres
from tests.processes import ServerProcess, ok


def server_on(request: pytest.FixtureRequest, data: Path) -> ServerProcess:
    """A server on the database that the parameter names."""
    database: str | None = None
    if request.param == "postgres":
        create: CreatePostgres = request.getfixturevalue("create_postgres")
        database = create(True)
    return ServerProcess(data, database=database)


@pytest.fixture(scope="session", params=["sqlite-file"])
def shared_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    """One server for all tests that do not end it."""
    with server_on(request, tmp_path_factory.mktemp("clients") / "data") as running:
        yield running


@pytest.fixture(params=["sqlite-file"])
def own_server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ServerProcess]:
    """A server that the test may end and start again."""
    with server_on(request, tmp_path / "data") as running:
        yield running


@pytest.fixture
def namespace(request: pytest.FixtureRequest, shared_server: ServerProcess) -> str:
    """A namespace named for the test."""
    title = f"{request.node.path.stem}-{request.node.originalname}".lower()
    name = re.sub(r"[^a-z0-9]+", "-", title)[:60].strip("-")
    with shared_server.client() as client:
        ok(client.send("POST", "/api/v1/namespaces", {"metadata": {"name": name}}), 201)
    return name
