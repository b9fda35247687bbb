"""The database goes away under a running server: nothing is acknowledged that is not stored, nothing is missed."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.faults.writers import Load, Outcomes, check_outcomes, event_of, listed
from tests.load import Connection
from tests.postgres_server import PostgresServer
from tests.processes import ServerProcess, configmap, configmaps, message


@pytest.fixture
def on_file(tmp_path: Path) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path / "data", insecure=True) as server:
        yield server


def remove(server: ServerProcess) -> None:
    """Delete the database's files."""
    for name in ("kinepy.db", "kinepy.db-wal", "kinepy.db-shm"):
        (server.data / name).unlink(missing_ok=True)


def test_a_deleted_file_is_noticed_before_anything_is_acknowledged(on_file: ServerProcess) -> None:
    with on_file.client() as client:
        body = client.create("before")
        remove(on_file)
        for answer in (
            client.send("POST", configmaps(), configmap("after")),
            client.replace({**body, "data": {"v": "1"}}),
            client.send("DELETE", f"{configmaps()}/before"),
        ):
            message(answer, 503, "ServiceUnavailable")
            assert int(answer.headers["retry-after"]) >= 1
        assert client.get("/readyz").status_code == 500
        assert client.get("/livez").status_code == 200
    assert not (on_file.data / "kinepy.db").exists(), "an empty database must not take the lost one's place"


async def test_a_file_deleted_under_load_ends_the_acknowledgements(on_file: ServerProcess) -> None:
    load = Load(on_file.url, "f", clients=16, survive=True)
    async with asyncio.TaskGroup() as group:
        group.create_task(load.run())
        await load.acknowledged(100)
        remove(on_file)
        await load.until(lambda: len(load.outcomes.refused) >= 16)
        settled = len(load.outcomes.acknowledged)
        await load.until(lambda: len(load.outcomes.refused) >= 64)
        load.stop.set()
    assert len(load.outcomes.acknowledged) == settled
    assert not load.outcomes.wrong


def test_a_file_replaced_by_another_is_noticed(on_file: ServerProcess, tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "other", insecure=True) as other:
        other.stop()
    with on_file.client() as client:
        client.create("before")
        (tmp_path / "other" / "kinepy.db").replace(on_file.data / "kinepy.db")
        message(client.send("POST", configmaps(), configmap("after")), 503, "ServiceUnavailable")
        assert client.get("/readyz").status_code == 500


# --- PostgreSQL


async def told(server: ServerProcess, *, start: int, until: str) -> dict[str, int]:
    """name -> revision of every event from a revision on up to the creation of a name, on one watch stream."""
    seen: dict[str, int] = {}
    newest = start
    path = f"{configmaps()}?watch=true&resourceVersion={start}"
    async with server.async_client(timeout_s=50) as http, http.stream("GET", path) as stream:
        async for line in stream.aiter_lines():
            kind, name, revision = event_of(line)
            assert kind == "ADDED"
            assert name not in seen
            assert revision > newest
            seen[name] = newest = revision
            if name == until:
                break
    return seen


async def outcomes_over_a_restart(
    server: ServerProcess, postgres: PostgresServer, *, immediate: bool
) -> Outcomes:
    """Load over a restart of PostgreSQL, up to 200 acknowledged creates after it."""
    load = Load(server.url, "p", clients=16, survive=True)
    async with asyncio.TaskGroup() as group:
        group.create_task(load.run())
        await load.acknowledged(100)
        await asyncio.to_thread(postgres.restart, immediate=immediate)
        await load.acknowledged(len(load.outcomes.acknowledged) + 200)
        load.stop.set()
    return load.outcomes


@pytest.mark.timeout(120)
@pytest.mark.parametrize("immediate", [False, True], ids=["fast", "immediate"])
async def test_a_restart_of_postgres_loses_nothing_and_watches_go_on(
    own_postgres: PostgresServer, tmp_path: Path, immediate: bool
) -> None:
    url = own_postgres.create_database()
    with ServerProcess(tmp_path / "data", database=url, insecure=True) as server:
        with server.client() as client:
            start = client.revision()
        async with asyncio.TaskGroup() as group:
            watch = group.create_task(told(server, start=start, until="p-end"))
            outcomes = await outcomes_over_a_restart(server, own_postgres, immediate=immediate)
            async with Connection(server.url) as connection:
                body = json.dumps(configmap("p-end")).encode()
                outcomes.note("p-end", await connection.send("POST", configmaps(), body))
        stored = await check_outcomes(outcomes, server.url, "p-")
        assert watch.result() == stored


@pytest.mark.timeout(120)
async def test_a_write_while_postgres_is_down_waits_or_is_refused(
    own_postgres: PostgresServer, tmp_path: Path
) -> None:
    url = own_postgres.create_database()
    with ServerProcess(tmp_path / "data", database=url, insecure=True) as server:
        async with server.async_client(timeout_s=50) as http:
            await asyncio.to_thread(own_postgres.stop, immediate=True)
            try:
                write = asyncio.create_task(http.post(configmaps(), json=configmap("down")))
                assert (await http.get("/readyz")).status_code == 500
                assert (await http.get("/livez")).status_code == 200
            finally:
                await asyncio.to_thread(own_postgres.start)
            answer = await write
            await _agrees(answer, server)


async def _agrees(answer: httpx.Response, server: ServerProcess) -> None:
    if answer.status_code == 201:
        assert "down" in await listed(server.url, "down")
    else:
        message(answer, 503, "ServiceUnavailable")
        assert "retry-after" in answer.headers
        assert "down" not in await listed(server.url, "down")
