"""Clients that come again at once after a 429, though they were told to wait: they wait, and others do not."""

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from tests.load import Answer, Connection
from tests.overload.test_overload import OPTIONS, fill, refused, settings
from tests.processes import ServerProcess, configmap, configmaps

RETRY_AFTER_S = 1.0
HELD_S = 0.7
"""what comes at once takes longer than this, what is not held less"""
SEATS = 5
"""how many of 8 one user gets"""
OBJECT = f"{configmaps()}/large-0001"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    """A server that lets in little at once, with some objects."""
    few = settings(requests_reading_max=8, requests_writing_max=8, requests_waiting_max=12, request_wait_s=50)
    with ServerProcess(tmp_path / "data", insecure=True, options=(*OPTIONS, *few)) as server:
        fill(server)
        yield server


@asynccontextmanager
async def no_room(server: ServerProcess) -> AsyncIterator[AsyncExitStack]:
    """Nothing more of this user is let in to read, until the stack is closed."""
    async with AsyncExitStack() as held:
        for _ in range(SEATS):
            writer = await stuck(server)
            held.callback(abort, writer)
        async with asyncio.timeout(20):
            while not await is_full(server, held):
                pass
        yield held


async def stuck(server: ServerProcess) -> asyncio.StreamWriter:
    """A list whose client takes none of it, not even into its system's buffers."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.setblocking(False)
    await asyncio.get_running_loop().sock_connect(client, ("127.0.0.1", server.port))
    _, writer = await asyncio.open_connection(sock=client, limit=1024)
    writer.write(f"GET {configmaps()} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    return writer


def abort(writer: asyncio.StreamWriter) -> None:
    """End a connection; it ends by itself when nobody has its writer any more."""
    writer.transport.abort()


async def is_full(server: ServerProcess, held: AsyncExitStack) -> bool:
    """Whether one more is refused; else it waits for its turn, unless there is a seat still."""
    reading = asyncio.create_task(read_once(server))
    held.callback(reading.cancel)
    await asyncio.wait([reading], timeout=0.2)
    return reading.done() and refused(reading.result())


async def read_once(server: ServerProcess) -> Answer:
    async with Connection(server.url) as connection:
        return await connection.send("GET", OBJECT)


async def timed(
    connection: Connection, path: str, method: str = "GET", body: bytes = b""
) -> tuple[Answer, float]:
    """An answer, and how long it took."""
    began = time.monotonic()
    answer = await connection.send(method, path, body)
    return answer, time.monotonic() - began


async def test_who_comes_again_at_once_is_answered_when_he_was_told_to_come(server: ServerProcess) -> None:
    async with no_room(server), Connection(server.url) as connection:
        first, at_once = await timed(connection, OBJECT)
        second, held = await timed(connection, OBJECT)
        assert refused(first) and refused(second)
        assert at_once < HELD_S < held < RETRY_AFTER_S + 5
        await asyncio.sleep(RETRY_AFTER_S)
        third, at_once = await timed(connection, OBJECT)
        assert refused(third) and at_once < HELD_S


async def test_what_would_be_let_in_is_not_held(server: ServerProcess) -> None:
    made = json.dumps(configmap("made")).encode()
    for path, method, body, code in (
        ("/readyz", "GET", b"", 200),
        (configmaps(), "POST", made, 201),
    ):
        async with no_room(server), Connection(server.url) as connection:
            assert refused(await connection.send("GET", OBJECT))
            answer, took = await timed(connection, path, method, body)
            assert (answer.code, took < HELD_S) == (code, True)


async def test_what_is_held_is_served_when_there_is_room_by_then(server: ServerProcess) -> None:
    async with Connection(server.url) as connection:
        async with no_room(server):
            assert refused(await connection.send("GET", OBJECT))
            again = asyncio.create_task(connection.send("GET", OBJECT))
            await asyncio.sleep(0)
        assert (await again).code == 200


async def test_what_is_held_when_the_server_stops_is_answered(server: ServerProcess) -> None:
    async with Connection(server.url) as connection, no_room(server) as held:
        assert refused(await connection.send("GET", OBJECT))
        again = asyncio.create_task(connection.send("GET", OBJECT))
        await asyncio.sleep(0)
        await held.aclose()
        assert await asyncio.to_thread(server.stop) == 0
        assert (await again).code == 200
