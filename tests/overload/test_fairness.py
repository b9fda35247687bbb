"""One user, or one namespace, that floods the server does not starve the others: real tokens, real connections."""

import asyncio
import json
import ssl
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.load import Connection
from tests.overload.test_overload import refused, settings
from tests.processes import ServerProcess, configmap, configmaps

USERS = ("flood", "jane")
OPTIONS = ("--controllers", "none", "--authorization-mode", "AlwaysAllow")
FLOODERS = 60
CALM_REQUESTS = 100
LONGEST_S = 5.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    """A server that lets in little at once, and knows some users by their tokens."""
    tokens = tmp_path / "tokens.csv"
    tokens.write_text("".join(f"token-of-{user},{user},{user}\n" for user in USERS))
    few = settings(requests_reading_max=16, requests_writing_max=16, requests_waiting_max=24)
    options = (*OPTIONS, "--token-file", str(tokens), *few)
    with ServerProcess(tmp_path / "data", options=options) as server:
        yield server


def connected(server: ServerProcess, user: str) -> Connection:
    """A connection of a user's own."""
    assert isinstance(server.tls, ssl.SSLContext)
    return Connection(server.url, headers={"Authorization": f"Bearer token-of-{user}"}, tls=server.tls)


@asynccontextmanager
async def flooded(server: ServerProcess, user: str, namespace: str) -> AsyncIterator[Counter[int]]:
    """A user reads and writes as fast as the server answers, whatever it answers; the codes."""
    codes: Counter[int] = Counter()
    full = asyncio.Event()

    async def flood(number: int) -> None:
        body = configmap(f"flood-{number}", namespace=namespace)
        async with connected(server, user) as connection:
            while True:
                for method, content in (("GET", b""), ("POST", json.dumps(body).encode())):
                    answer = await connection.send(method, configmaps(namespace), content)
                    codes[answer.code] += 1
                    if codes[429] == FLOODERS:
                        full.set()

    tasks = [asyncio.create_task(flood(number)) for number in range(FLOODERS)]
    try:
        async with asyncio.timeout(20):
            await full.wait()
        yield codes
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


@pytest.mark.parametrize(
    ("flooder", "namespace"), [("flood", "default"), ("jane", "kube-public")], ids=["user", "namespace"]
)
async def test_others_are_served_as_if_there_were_no_flood(
    server: ServerProcess, flooder: str, namespace: str
) -> None:
    longest = 0.0
    async with flooded(server, flooder, namespace) as codes, connected(server, "jane") as connection:
        for number in range(CALM_REQUESTS):
            began = time.monotonic()
            answer = await connection.send("GET", f"{configmaps()}/none-{number}")
            longest = max(longest, time.monotonic() - began)
            assert not refused(answer), codes
            assert answer.code == 404
    assert longest < LONGEST_S
