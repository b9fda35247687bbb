"""A standby takes over: with all commits nothing happens, without the last ones nobody is left in error about them."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.faults.proxy import Proxy
from tests.faults.standby import Standby, be_synchronous, caught_up
from tests.faults.writers import Load, check_outcomes, event_of, listed
from tests.load import Connection
from tests.postgres_server import PostgresServer
from tests.processes import ServerProcess, configmap, configmaps, run_kinepy

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

WATCH = f"{configmaps()}?watch=true&resourceVersion="


@pytest.fixture
def pair() -> Iterator[tuple[PostgresServer, Standby]]:
    """A primary and its standby."""
    with PostgresServer() as primary, Standby(primary) as standby:
        yield primary, standby


async def create(server: ServerProcess, name: str) -> int:
    """Create, again until it is done; returns the revision."""
    body = json.dumps(configmap(name, v=name)).encode()
    async with Connection(server.url) as connection:
        while (answer := await connection.send("POST", configmaps(), body)).code != 201:
            assert answer.code in (503, 504), answer
    return int(answer.json()["metadata"]["resourceVersion"])


class Watcher:
    """Watches from a revision, again wherever the stream ends, until it is told that it is too old."""

    def __init__(self, server: ServerProcess, start: int, *, expect: int) -> None:
        self._server, self._start, self._expect = server, start, expect
        self.names: list[str] = []
        self.has_seen = asyncio.Event()
        """as many events as are expected were told"""

    async def run(self) -> None:
        """Returns at the 410."""
        last = self._start
        async with httpx.AsyncClient(base_url=self._server.url, timeout=60, trust_env=False) as http:
            while True:
                async with http.stream("GET", f"{WATCH}{last}") as stream:
                    async for line in stream.aiter_lines():
                        event = json.loads(line)
                        if event["type"] == "ERROR":
                            assert event["object"]["code"] == 410, event
                            return
                        _, name, last = event_of(line)
                        self.names.append(name)
                        if len(self.names) == self._expect:
                            self.has_seen.set()


async def take_over(proxy: Proxy, primary: PostgresServer, standby: Standby, *, database: str) -> None:
    """The primary dies, the standby is promoted, the address moves."""
    await asyncio.to_thread(primary.stop, immediate=True)
    await asyncio.to_thread(standby.promote)
    proxy.retarget(standby.url_of(database))


async def test_lost_commits_are_told_to_everybody(
    pair: tuple[PostgresServer, Standby], tmp_path: Path
) -> None:
    """Also to those who watch through a server that wrote nothing itself."""
    primary, standby = pair
    database = primary.create_database()
    async with Proxy(database) as proxy, two_servers(proxy.url, tmp_path) as (server, idle):
        first = await create(server, "kept")
        await caught_up(primary)
        await asyncio.to_thread(standby.stop)
        lost = [await create(server, f"lost-{number}") for number in range(5)]
        watchers = [Watcher(each, first, expect=len(lost)) for each in (server, idle)]
        async with asyncio.TaskGroup() as group:
            for watcher in watchers:
                group.create_task(watcher.run())
                await watcher.has_seen.wait()
            await asyncio.to_thread(primary.stop, immediate=True)
            await asyncio.to_thread(standby.start)
            await take_over(proxy, primary, standby, database=database)
            after = await create(server, "after")
        assert after > max(lost) + 1, "a revision that somebody saw must not mean something else"
        for each, watcher in zip((server, idle), watchers, strict=True):
            assert watcher.names == [f"lost-{number}" for number in range(5)]
            assert sorted(await listed(each.url, "")) == ["after", "kept"]
            with each.client() as client:
                old = client.get(configmaps(), resourceVersion=max(lost), resourceVersionMatch="Exact")
                assert old.status_code == 410
        # Servers write some records of their own; an epoch is further away.
        assert after < await create(idle, "next") < after + 1000, "one epoch, not one a server"
        done = await asyncio.to_thread(run_kinepy, "check", "--database", standby.url_of(database))
        assert done.returncode == 0, (done.stdout, done.stderr)


@asynccontextmanager
async def two_servers(url: str, folder: Path) -> AsyncIterator[tuple[ServerProcess, ServerProcess]]:
    """Two servers on one database, started beside the loop in which the proxy runs."""
    options = ("--controllers", "none")
    one, two = (
        ServerProcess(folder / name, database=url, insecure=True, options=options) for name in ("one", "two")
    )
    try:
        await asyncio.gather(asyncio.to_thread(one.start), asyncio.to_thread(two.start))
        yield one, two
    finally:
        one.destroy()
        two.destroy()


async def told(server: ServerProcess, start: int, until: str) -> dict[str, int]:
    """name -> revision of what a watch tells that is resumed wherever it ends, up to a name; 410 is an error."""
    seen: dict[str, int] = {}
    last = start
    async with httpx.AsyncClient(base_url=server.url, timeout=60, trust_env=False) as http:
        while until not in seen:
            async with http.stream("GET", f"{WATCH}{last}") as stream:
                async for line in stream.aiter_lines():
                    kind, name, last = event_of(line)
                    assert kind == "ADDED", line
                    seen[name] = last
                    if name == until:
                        break
    return seen


async def test_a_synchronous_standby_takes_over_without_anybody_noticing(
    pair: tuple[PostgresServer, Standby], tmp_path: Path
) -> None:
    primary, standby = pair
    database = primary.create_database()
    be_synchronous(primary)
    await caught_up(primary, synchronous=True)
    options = ("--controllers", "none", "--set", "postgres_standbys=synchronous")
    async with Proxy(database) as proxy:
        server = ServerProcess(tmp_path / "data", database=proxy.url, insecure=True, options=options)
        await asyncio.to_thread(server.start)
        try:
            start = await create(server, "first")
            load = Load(server.url, "s", clients=16, survive=True)
            async with asyncio.TaskGroup() as group:
                watch = group.create_task(told(server, start, "end"))
                async with asyncio.TaskGroup() as writers:
                    writers.create_task(load.run())
                    await load.acknowledged(200)
                    await take_over(proxy, primary, standby, database=database)
                    await load.acknowledged(len(load.outcomes.acknowledged) + 200)
                    load.stop.set()
                await create(server, "end")
            stored = await check_outcomes(load.outcomes, server.url, "s-")
            seen = watch.result()
            assert {name: revision for name, revision in seen.items() if name.startswith("s-")} == stored
            assert max(stored.values()) < start + 2 * len(seen) + 10, "no jump"
        finally:
            server.destroy()
