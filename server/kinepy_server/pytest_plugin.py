"""pytest plugin: the fixture `kinepy_server`, a Kubernetes API server for tests of operators and API clients.

This module imports nothing of kinepy until the fixture is used, so it costs other test runs nothing.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kinepy_server.background import BackgroundServer


@pytest.fixture(scope="session")
def kinepy_server(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[BackgroundServer]":
    """A server in memory for the whole session.

    `.url` is plain http and everybody is admin, `.kubeconfig` is the path of a file for clients, `.reset()` deletes
    everything but the bootstrap objects: ordinary writes, which open watches see.
    """
    from kinepy_server.background import BackgroundServer

    server = BackgroundServer(tmp_path_factory.mktemp("kinepy"))
    server.start()
    yield server
    server.stop()
