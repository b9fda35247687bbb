"""A kopf operator, unmodified kopf in a process of its own, through deaths of the server and compactions."""

import os
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self, TextIO

import pytest

from tests.acceptance.servers import compact
from tests.processes import Client, ServerProcess, configmap, configmaps, ok

OPERATOR = Path(__file__).with_name("kopf_operator.py")
WAIT_S = 20
SERVER_IS_AWAY = re.compile(r"failed; will retry: .* -> (Client\w+Error|ServerDisconnectedError)\(")


class Operator:
    """`kopf run` in the namespace `default`, without peering."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        self.said: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.log: list[str] = []

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "kopf", "run", "--standalone", "-n", "default", str(OPERATOR)]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "KUBECONFIG": str(self.server.kubeconfig)},
        )
        assert self.process.stdout is not None and self.process.stderr is not None
        self.readers = [
            threading.Thread(target=self._read, args=(self.process.stdout, self.said.put)),
            threading.Thread(target=self._read, args=(self.process.stderr, self.log.append)),
        ]
        for reader in self.readers:
            reader.start()
        return self

    def _read(self, stream: TextIO, keep: Callable[[str], None]) -> None:
        with stream:
            for line in stream:
                keep(line.rstrip("\n"))

    def stop(self) -> int:
        """End it as a service manager does."""
        self.process.terminate()
        code = self.process.wait(WAIT_S)
        for reader in self.readers:
            reader.join()
        return code

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for reader in self.readers:
            reader.join()

    def says(self, *lines: str) -> None:
        """These lines come next, in whatever order."""
        heard = {self._next() for _ in lines}
        assert heard == set(lines), self.log[-20:]

    def _next(self) -> str:
        try:
            return self.said.get(timeout=WAIT_S)
        except queue.Empty:
            raise AssertionError("\n".join(self.log[-30:])) from None

    @property
    def errors(self) -> list[str]:
        """What it logged as wrong, but for the time in which the server was away."""
        bad = [line for line in self.log if "[ERROR" in line or "[WARNING" in line or "Traceback" in line]
        return [line for line in bad if not SERVER_IS_AWAY.search(line)]


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
    with Operator(own_server) as operator:
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
    with Operator(own_server) as operator:
        operator.says("resume old")
        delete(client, "old")
        operator.says("delete old")
        assert (operator.stop(), operator.errors) == (0, [])


def test_timers_and_daemons_attend_to_an_object_while_it_lives(
    own_server: ServerProcess, client: Client
) -> None:
    with Operator(own_server) as operator:
        create(client, "t", "timed")
        for ticks in (1, 2, 3):
            operator.says(f"tick t {ticks}")
        create(client, "d", "attended")
        operator.says("daemon d")
        delete(client, "d")
        operator.says("daemon ends d")
        assert (operator.stop(), operator.errors) == (0, [])
