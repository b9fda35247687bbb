"""Two server processes on one database: when the one that acts is killed, the other acts within seconds."""

import signal
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.backends import SHARED_BACKENDS, Backend, DatabaseMaker
from tests.processes import Client, ServerProcess, ok

TAKEN_OVER_S = 20


def acts(client: Client) -> bool:
    """Whether a server is the one that ends namespaces."""
    text: str = client.get("/metrics").text
    return 'kinepy_controller_leading{controller="namespaces"} 1.0' in text


@pytest.mark.parametrize("backend", SHARED_BACKENDS, ids=lambda backend: backend.name)
def test_another_server_takes_over(backend: Backend, databases: DatabaseMaker, tmp_path: Path) -> None:
    url = databases.fresh_url(backend)
    with ExitStack() as stack:
        servers = [
            stack.enter_context(ServerProcess(tmp_path / name, database=url, insecure=True))
            for name in ("first", "second")
        ]
        clients = [stack.enter_context(server.client()) for server in servers]
        while not any(leading := [acts(client) for client in clients]):
            continue
        assert sum(leading) == 1
        leader = leading.index(True)
        client = clients[1 - leader]
        ok(client.send("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}}), 201)
        servers[leader].kill(signal.SIGKILL)
        with client.watch("/api/v1/namespaces", timeoutSeconds=TAKEN_OVER_S) as events:
            ok(client.send("DELETE", "/api/v1/namespaces/n"))
            assert any(event["type"] == "DELETED" for event in events)
        assert acts(client)
