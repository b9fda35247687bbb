"""One server in its safe default for all tests with manifests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.manifests.kubectl import Program
from tests.processes import ServerProcess


@pytest.fixture(scope="session")
def shop_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """`kinepy serve` as it comes."""
    with ServerProcess(tmp_path_factory.mktemp("manifests") / "data") as running:
        yield running


@pytest.fixture
def kubectl(shop_server: ServerProcess, tmp_path: Path) -> Program:
    """kubectl as the admin."""
    return Program("kubectl", shop_server.kubeconfig, tmp_path)


@pytest.fixture
def helm(shop_server: ServerProcess, tmp_path: Path) -> Program:
    """helm as the admin."""
    return Program("helm", shop_server.kubeconfig, tmp_path)
