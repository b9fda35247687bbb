"""A host, which is a kinepy of its own, and a server that stands behind it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.aggregated.authority import Authority
from tests.aggregated.servers import Behind, grant, serve_behind
from tests.processes import ServerProcess


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """The host: users, rights and namespaces are its own."""
    data = tmp_path_factory.mktemp("host")
    with ServerProcess(data, database="sqlite:///:memory:", options=("--controllers", "none")) as found:
        grant(
            found, "jane", "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"
        )
        yield found


@pytest.fixture(scope="session")
def proxies() -> Authority:
    """Who vouches for front proxies."""
    return Authority("proxies")


@pytest.fixture(scope="session")
def clients() -> Authority:
    """Who vouches for users."""
    return Authority("clients")


@pytest.fixture(scope="session")
def behind(
    host: ServerProcess, proxies: Authority, clients: Authority, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Behind]:
    """A server behind the host, which was told both authorities."""
    folder = tmp_path_factory.mktemp("behind")
    options = (
        *("--requestheader-client-ca-file", str(proxies.write(folder))),
        *("--requestheader-allowed-names", "proxy-a,proxy-b"),
        *("--client-ca", str(clients.write(folder))),
        *("--set", "delegation_cache_s=0.2", "--set", "delegation_timeout_s=3"),
    )
    with serve_behind(host, folder, *options) as server:
        yield Behind(server, proxies.issue("proxy-a"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of the test's own."""
    return tmp_path
