"""More clients than a real server lets in: what is accepted is right, the others get 429, memory is bounded."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from tests.load import Answer, Connection
from tests.processes import ServerProcess, configmap, configmaps, ok

OPTIONS = ("--controllers", "none")
OBJECTS, SIZE = 300, 32 * 1024
PLAIN = b"Too many requests, please try again later.\n"


def settings(**values: object) -> tuple[str, ...]:
    """Options that set settings."""
    return tuple(text for name, value in values.items() for text in ("--set", f"{name}={value}"))


@pytest.fixture
def tight(tmp_path: Path) -> Iterator[ServerProcess]:
    """A server that serves little at once."""
    few = settings(
        requests_reading_max=16,
        requests_writing_max=16,
        requests_waiting_max=16,
        answers_bytes_max=32_000_000,
    )
    with ServerProcess(tmp_path / "data", insecure=True, options=(*OPTIONS, *few)) as server:
        yield server


def refused(answer: Answer) -> bool:
    """Whether an answer is the 429, which then is whole and says when to come again."""
    if answer.code != 429:
        return False
    assert (answer.headers["retry-after"], answer.body) == ("1", PLAIN)
    return True


async def create(server: ServerProcess, client: int, count: int) -> tuple[list[str], int]:
    """Create objects, each once; the names of those that were accepted, and how many were not."""
    made, refusals = [], 0
    async with Connection(server.url) as connection:
        for number in range(count):
            name = f"c{client}-{number}"
            answer = await connection.send("POST", configmaps(), json.dumps(configmap(name)).encode())
            if refused(answer):
                refusals += 1
            else:
                assert answer.code == 201, answer.body
                made.append(name)
    return made, refusals


async def test_what_is_accepted_is_done_and_what_is_refused_is_not(tight: ServerProcess) -> None:
    results = await asyncio.gather(*(create(tight, client, 5) for client in range(64)))
    assert sum(refusals for _, refusals in results) > 0
    with tight.client() as client:
        listed = ok(client.get(configmaps()))["items"]
    accepted = [name for made, _ in results for name in made]
    assert accepted
    assert sorted(accepted) == [item["metadata"]["name"] for item in listed]


def fill(server: ServerProcess) -> None:
    """Objects of 10 MB in all."""
    with server.client() as client:
        for number in range(OBJECTS):
            client.create(f"large-{number:04}", v="x" * SIZE)


async def list_all(server: ServerProcess, count: int) -> Counter[int]:
    """List everything again and again; the codes."""
    codes: Counter[int] = Counter()
    async with Connection(server.url) as connection:
        for _ in range(count):
            answer = await connection.send("GET", configmaps())
            codes[answer.code] += 1
            assert refused(answer) or len(json.loads(answer.body)["items"]) == OBJECTS
    return codes


async def stuck(server: ServerProcess) -> asyncio.StreamWriter:
    """A list whose client never reads."""
    _, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
    writer.write(f"GET {configmaps()} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    return writer


async def test_readers_that_stand_still_hold_little_and_keep_no_writer_out(tight: ServerProcess) -> None:
    fill(tight)
    before = psutil.Process(tight.pid).memory_info().rss
    writers = [await stuck(tight) for _ in range(40)]
    async with tight.async_client() as http:
        answers = [await http.post(configmaps(), json=configmap(f"more-{number}")) for number in range(20)]
        metrics = (await http.get("/metrics")).text
    assert {answer.status_code for answer in answers} == {201}
    assert psutil.Process(tight.pid).memory_info().rss - before < 120e6
    assert 'apiserver_flowcontrol_rejected_requests_total{flow_schema="",priority_level="readOnly"' in metrics
    for writer in writers:
        writer.transport.abort()
    codes: Counter[int] = Counter()
    async with asyncio.timeout(30), tight.async_client() as http:
        # The places come back when the connections do.
        while not codes[200]:
            codes[(await http.get(configmaps())).status_code] += 1


async def test_lists_take_turns_in_bounded_memory(tight: ServerProcess) -> None:
    fill(tight)
    before = psutil.Process(tight.pid).memory_info().rss
    codes: Counter[int] = sum(await asyncio.gather(*(list_all(tight, 3) for _ in range(64))), Counter())
    assert codes[200] > 0 and codes[429] > 0 and set(codes) == {200, 429}
    assert psutil.Process(tight.pid).memory_info().rss - before < 200e6


async def test_a_client_that_does_not_take_its_answer_is_cut_off(tmp_path: Path) -> None:
    quick = settings(request_timeout_s=0.5)
    with ServerProcess(tmp_path / "data", insecure=True, options=(*OPTIONS, *quick)) as server:
        fill(server)
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
        writer.write(f"GET {configmaps()} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        async with asyncio.timeout(20), server.async_client(connections=1) as http:
            while "kinepy_connections 1.0" not in (await http.get("/metrics")).text:
                pass
        taken = 0
        while data := await reader.read(1 << 20):
            taken += len(data)
        assert taken < OBJECTS * SIZE
        writer.close()


WITH_STATE = ("", "resourceVersion=0", "sendInitialEvents=true&resourceVersionMatch=NotOlderThan")


def test_an_open_watch_holds_no_place(tmp_path: Path) -> None:
    one = settings(requests_reading_max=1, requests_writing_max=1)
    options = (*OPTIONS, *one)
    with (
        ServerProcess(tmp_path / "data", insecure=True, options=options) as server,
        server.client() as client,
    ):
        client.create("a")
        for query in WITH_STATE:
            with client.http.stream("GET", f"{configmaps()}?watch=true&{query}") as stream:
                assert next(stream.iter_lines())
                assert client.get(configmaps()).status_code == 200


def test_one_connection_too_many_is_told_so(tmp_path: Path) -> None:
    two = settings(connections_max=2)
    with ServerProcess(tmp_path / "data", insecure=True, options=(*OPTIONS, *two)) as server:
        with server.client() as first, server.client() as second:
            assert first.get("/readyz").status_code == second.get("/readyz").status_code == 200
            answer = httpx.get(f"{server.url}/readyz", trust_env=False)
            assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
            assert "kinepy_connections_refused_total 1.0" in first.get("/metrics").text
        # Closed connections make room, when the server has noticed.
        while httpx.get(f"{server.url}/readyz", trust_env=False).status_code == 429:
            pass
