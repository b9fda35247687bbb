"""Two replicas on one database are restarted one after the other, and no client that tries again notices."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.backends import SHARED_BACKENDS, Backend, DatabaseMaker
from tests.processes import ServerProcess, configmap, configmaps

CLIENTS = 8
ATTEMPTS_MAX = 100
PAUSE_S = 0.1
TRY_AGAIN = frozenset({429, 500, 502, 503, 504})
Pair = tuple[ServerProcess, ServerProcess]


@pytest.fixture(params=[one for one in SHARED_BACKENDS if one.durable], ids=lambda backend: backend.name)
def pair(request: pytest.FixtureRequest, databases: DatabaseMaker, tmp_path: Path) -> Iterator[Pair]:
    backend: Backend = request.param
    url = databases.fresh_url(backend)
    with ExitStack() as stack:
        first, second = (
            stack.enter_context(ServerProcess(tmp_path / name, database=url, insecure=True))
            for name in ("one", "two")
        )
        yield first, second


@dataclass
class Retrying:
    """A client that knows both replicas, and tries the other one when one does not answer."""

    urls: tuple[str, str]
    preferred: int
    http: httpx.AsyncClient
    retries: int = 0

    async def send(self, method: str, path: str, body: Any = None) -> httpx.Response:
        """The first answer that is one."""
        for _ in range(ATTEMPTS_MAX):
            try:
                answer = await self.http.request(
                    method,
                    self.urls[self.preferred % 2] + path,
                    content=None if body is None else json.dumps(body).encode(),
                    headers={"Content-Type": "application/json"},
                )
            except httpx.TransportError:
                self.preferred += 1
            else:
                if answer.status_code not in TRY_AGAIN:
                    return answer
            self.retries += 1
            await asyncio.sleep(PAUSE_S)
        raise AssertionError(f"{method} {path} failed {ATTEMPTS_MAX} times")


@dataclass
class Load:
    """Clients that create, read and change objects until they are told to stop."""

    pair: Pair
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    written: dict[str, int] = field(default_factory=dict)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    changes: int = 0
    retries: int = 0

    async def run(self, number: int) -> None:
        """One client."""
        async with httpx.AsyncClient(timeout=10, trust_env=False) as http:
            client = Retrying((self.pair[0].url, self.pair[1].url), number, http)
            count = 0
            while not self.stop.is_set():
                await self._change(client, f"c{number}-{count % 5}", count)
                count += 1
                async with self.changed:
                    self.changes += 1
                    self.changed.notify_all()
            self.retries += client.retries

    async def _change(self, client: Retrying, name: str, count: int) -> None:
        body = configmap(name, n=str(count))
        if name not in self.written:
            created = await client.send("POST", configmaps(), body)
            # After a lost answer the object is there: that is this client's own doing.
            assert created.status_code in (201, 409), created.text
        else:
            replaced = await client.send("PUT", f"{configmaps()}/{name}", body)
            assert replaced.status_code == 200, replaced.text
        self.written[name] = count
        read = await client.send("GET", f"{configmaps()}/{name}")
        assert read.json()["data"] == {"n": str(count)}


async def restart(server: ServerProcess) -> None:
    """Stop as a service manager does, then start again."""
    assert await asyncio.to_thread(server.stop) == 0
    await asyncio.to_thread(server.restart)


async def more_written(load: Load, *, by: int) -> None:
    """Wait until the load has gone on by so many changes."""
    aim = load.changes + by
    async with asyncio.timeout(60), load.changed:
        await load.changed.wait_for(lambda: load.changes >= aim)


async def test_a_rolling_restart_fails_no_request_of_clients_that_try_again(pair: Pair) -> None:
    load = Load(pair)
    async with asyncio.TaskGroup() as group:
        for number in range(CLIENTS):
            group.create_task(load.run(number))
        for server in pair:
            await more_written(load, by=100)
            await restart(server)
        await more_written(load, by=100)
        load.stop.set()
    for server in pair:
        with server.client() as client:
            items = client.get(configmaps()).json()["items"]
        found = {
            item["metadata"]["name"]: int(item["data"]["n"]) for item in items if "n" in item.get("data", {})
        }
        assert found == load.written
    assert load.retries > 0
