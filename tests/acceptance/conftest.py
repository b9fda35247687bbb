"""One server for each database, shared by the acceptance tests, and a namespace for each test."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.servers import Place
from tests.backends import CreatePostgres
from tests.processes import Client, ServerProcess, ok

NO_CONTROLLERS = ("--controllers", "none")


def database_url(request: pytest.FixtureRequest) -> str | None:
    """A fresh database for the fixture's parameter; None is the SQLite file in the data folder."""
    if request.param == "sqlite-file":
        return None
    create: CreatePostgres = request.getfixturevalue("create_postgres")
    return create(True)


@pytest.fixture(scope="session", params=["sqlite-file", "postgres"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    data = tmp_path_factory.mktemp("acceptance") / "data"
    with ServerProcess(data, database=database_url(request), options=NO_CONTROLLERS) as running:
        yield running


@pytest.fixture(params=["sqlite-file", "postgres"])
def own_server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ServerProcess]:
    """A server that the test may kill."""
    with ServerProcess(tmp_path / "data", database=database_url(request), options=NO_CONTROLLERS) as running:
        yield running


@pytest.fixture(scope="session")
def default_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """`kinepy serve` as it comes, for kubectl."""
    with ServerProcess(tmp_path_factory.mktemp("kubectl") / "data") as running:
        yield running


@pytest.fixture
def client(server: ServerProcess) -> Iterator[Client]:
    with server.client() as open_client:
        yield open_client


def make_namespace(client: Client, name: str) -> None:
    """Create a namespace."""
    ok(client.send("POST", "/api/v1/namespaces", {"metadata": {"name": name}}), 201)


@pytest.fixture
def place(request: pytest.FixtureRequest, server: ServerProcess, client: Client) -> Place:
    """A namespace named for the test."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower())[:56].strip("-")
    make_namespace(client, name)
    return Place(server, name)


@pytest.fixture
def empty(place: Place, client: Client) -> Place:
    """Another namespace, in which nothing ever happens."""
    name = f"{place.namespace}-empty"
    make_namespace(client, name)
    return Place(place.server, name)
