"""Two server processes on one database write the same keys at once: no lost update, one order for all watchers."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.faults.databases import Database
from tests.faults.writers import event_of
from tests.load import Connection
from tests.processes import ServerProcess, configmap, configmaps

COUNTERS, CLIENTS, INCREMENTS = 3, 4, 15


@pytest.fixture
def pair(database: Database, tmp_path: Path) -> Iterator[tuple[ServerProcess, ServerProcess]]:
    url = database.url or f"sqlite:///{tmp_path / 'shared.db'}"
    with ExitStack() as stack:
        first, second = (
            stack.enter_context(ServerProcess(tmp_path / name, database=url, insecure=True))
            for name in ("one", "two")
        )
        yield first, second


async def increment(url: str, name: str, *, times: int) -> None:
    """Add one to a counter so often, by reading and replacing, again after each conflict."""
    address = f"{configmaps()}/{name}"
    async with Connection(url) as connection:
        while times:
            body = (await connection.send("GET", address)).json()
            body["data"]["n"] = str(int(body["data"]["n"]) + 1)
            answer = await connection.send("PUT", address, json.dumps(body).encode())
            assert answer.code in (200, 409), answer
            times -= answer.code == 200


async def follow(server: ServerProcess, *, start: int, until: str) -> list[tuple[str, str, int]]:
    """Every event of the ConfigMaps from a revision on, up to the creation of a name."""
    events = []
    path = f"{configmaps()}?watch=true&resourceVersion={start}"
    async with server.async_client() as http, http.stream("GET", path) as stream:
        async for line in stream.aiter_lines():
            events.append(event_of(line))
            if events[-1][1] == until:
                break
    return events


async def test_two_servers_lose_no_update_and_tell_one_order(
    pair: tuple[ServerProcess, ServerProcess], database: Database
) -> None:
    first, second = pair
    with first.client() as client:
        start = client.revision()
        for i in range(COUNTERS):
            client.create(f"counter-{i}", n="0")
    async with asyncio.TaskGroup() as group:
        told = [group.create_task(follow(server, start=start, until="end")) for server in pair]
        async with asyncio.TaskGroup() as writers:
            for number in range(CLIENTS * COUNTERS * 2):
                name = f"counter-{number // 2 % COUNTERS}"
                writers.create_task(increment(pair[number % 2].url, name, times=INCREMENTS))
        async with Connection(second.url) as connection:
            await connection.send("POST", configmaps(), json.dumps(configmap("end")).encode())
    total = CLIENTS * INCREMENTS * 2
    for server in pair:
        with server.client() as client:
            for i in range(COUNTERS):
                assert client.get(f"{configmaps()}/counter-{i}").json()["data"] == {"n": str(total)}
    one, two = (task.result() for task in told)
    assert one == two
    assert len(one) == COUNTERS * (total + 1) + 1
    revisions = [revision for _, _, revision in one]
    assert revisions == sorted(set(revisions))
    database.check(first)


async def test_a_read_on_one_server_sees_what_the_other_acknowledged(
    pair: tuple[ServerProcess, ServerProcess],
) -> None:
    with pair[0].client() as here, pair[1].client() as there:
        for i in range(30):
            made = here.create(f"c{i}")
            listed = there.get(configmaps()).json()
            assert int(listed["metadata"]["resourceVersion"]) >= int(made["metadata"]["resourceVersion"])
            assert f"c{i}" in [item["metadata"]["name"] for item in listed["items"]]
            here, there = there, here


async def test_one_of_two_creators_wins(pair: tuple[ServerProcess, ServerProcess]) -> None:
    async def create(url: str, name: str) -> int:
        async with Connection(url) as connection:
            return (await connection.send("POST", configmaps(), json.dumps(configmap(name)).encode())).code

    for i in range(20):
        codes = await asyncio.gather(*(create(server.url, f"race-{i}") for server in pair))
        assert sorted(codes) == [201, 409]
