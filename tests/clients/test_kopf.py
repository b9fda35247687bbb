"""A kopf operator, unmodified kopf in a process of its own, through deaths of the server and compactions."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.servers import compact
from tests.clients.kopf_process import WAIT_S, KopfProcess
from tests.processes import Client, ServerProcess, configmap, configmaps, ok

OPERATOR = Path(__file__).with_name("kopf_operator.py")


def run_operator(server: ServerProcess) -> KopfProcess:
    """The operator of ConfigMaps, without peering."""
    return KopfProcess(server, OPERATOR, "--standalone")


@pytest.fixture
def client(own_server: ServerProcess) -> Iterator[Client]:
    with own_server.client() as found:
        yield found


def create(client: Client, name: str, *labels: str) -> None:
    """A ConfigMap that the operator looks at."""
    body = configmap(name, v="0")
    body["metadata"]["labels"] = dict.fromkeys(labels, "yes")
    ok(client.send("POST", configmaps(), body), 201)


def change(client: Client, name: str, value: str) -> None:
    ok(client.merge_patch(f"{configmaps()}/{name}", {"data": {"v": value}}))


def is_held(client: Client, name: str) -> None:
    """Wait until kopf's finalizer is on it: a daemon may begin before that, and is not told of the end then."""
    follow: dict[str, str | int] = {"fieldSelector": f"metadata.name={name}", "timeoutSeconds": WAIT_S}
    with client.watch(configmaps(), **follow) as events:
        assert any(event["object"]["metadata"].get("finalizers") for event in events)


def delete(client: Client, name: str) -> None:
    """Delete it, and wait until kopf has let it go."""
    since = client.revision()
    client.delete(name)
    follow: dict[str, str | int] = {
        "resourceVersion": since,
        "fieldSelector": f"metadata.name={name}",
        "timeoutSeconds": WAIT_S,
    }
    with client.watch(configmaps(), **follow) as events:
        assert "DELETED" in (event["type"] for event in events)


@pytest.mark.parametrize("own_server", ["sqlite-file", "postgres"], indirect=True)
def test_an_operator_is_told_of_everything_through_deaths_and_compactions(
    own_server: ServerProcess, client: Client
) -> None:
    create(client, "old", "watched")
    with run_operator(own_server) as operator:
        operator.says("create old 0 old")
        create(client, "new", "watched")
        operator.says("create new 0 new old")
        change(client, "new", "1")
        operator.says("update new 0 1")
        own_server.kill()
        own_server.restart()
        compact(own_server)
        change(client, "new", "2")
        operator.says("update new 1 2")
        delete(client, "new")
        operator.says("delete new")
        assert (operator.stop(), operator.errors) == (0, [])
    with run_operator(own_server) as operator:
        operator.says("resume old")
        delete(client, "old")
        operator.says("delete old")
        assert (operator.stop(), operator.errors) == (0, [])


def test_timers_and_daemons_attend_to_an_object_while_it_lives(
    own_server: ServerProcess, client: Client
) -> None:
    with run_operator(own_server) as operator:
        create(client, "t", "timed")
        for ticks in (1, 2, 3):
            operator.says(f"tick t {ticks}")
        create(client, "d", "attended")
        operator.says("daemon d")
        is_held(client, "d")
        delete(client, "d")
        operator.says("daemon ends d")
        assert (operator.stop(), operator.errors) == (0, [])
