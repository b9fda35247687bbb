"""Watchers that do not read are ended, resumably; nobody else waits for them, and memory stays bounded."""

import asyncio
import json
from pathlib import Path

import psutil

from tests.faults.writers import event_of
from tests.load import Connection
from tests.processes import ServerProcess, configmap, configmaps

STUCK, OBJECTS, SIZE = 50, 120, 512 * 1024
WATCH = f"GET {configmaps()}?watch=true&resourceVersion={{}} HTTP/1.1\r\nHost: x\r\n\r\n"


async def stuck(server: ServerProcess, start: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A watch whose client stops reading after the head."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
    writer.write(WATCH.format(start).encode())
    assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    return reader, writer


async def follow(server: ServerProcess, start: int, count: int) -> list[int]:
    """The revisions of the first events from a revision on."""
    seen: list[int] = []
    path = f"{configmaps()}?watch=true&resourceVersion={start}"
    async with server.async_client() as http, http.stream("GET", path) as stream:
        async for line in stream.aiter_lines():
            seen.append(event_of(line)[2])
            if len(seen) == count:
                break
    return seen


async def create_large(server: ServerProcess) -> list[int]:
    """Create objects of 512 KB; returns their revisions."""
    made = []
    async with Connection(server.url) as connection:
        for number in range(OBJECTS):
            body = json.dumps(configmap(f"large-{number}", v="x" * SIZE)).encode()
            answer = await connection.send("POST", configmaps(), body)
            assert answer.code == 201, answer.body[:300]
            made.append(int(answer.json()["metadata"]["resourceVersion"]))
    return made


async def test_stuck_watchers_delay_nobody_and_are_ended(tmp_path: Path) -> None:
    options = ("--controllers", "none")
    with ServerProcess(tmp_path / "data", insecure=True, options=options) as server:
        with server.client() as client:
            start = client.revision()
        streams = [await stuck(server, start) for _ in range(STUCK)]
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(follow(server, start, OBJECTS))
            made = await create_large(server)
        assert reading.result() == made
        assert psutil.Process(server.pid).memory_info().rss < 700e6
        tails = await asyncio.gather(*(rest(reader) for reader, _ in streams))
        assert all(tail.endswith(b"\r\n0\r\n\r\n") for tail in tails)
        for _, writer in streams:
            writer.close()


async def rest(reader: asyncio.StreamReader) -> bytes:
    """The end of a stream, reading all of it."""
    tail = b""
    while not tail.endswith(b"\r\n0\r\n\r\n") and (data := await reader.read(1 << 20)):
        tail = (tail + data)[-64:]
    return tail
