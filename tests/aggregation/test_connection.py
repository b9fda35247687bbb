"""A connection to a backend understands every way in which HTTP/1.1 ends an answer, however it is cut into pieces."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinepy_server.aggregation.connection import HEAD_BYTES_MAX, HELD_BYTES_MAX, Broken, Connection, head_of

HEAD = head_of("GET", b"/a", [(b"host", b"h")])
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b \r\n\r\nabcde"
UNTIL_CLOSE = b"HTTP/1.1 200 OK\r\n\r\nabcde"
INFORMED = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + LENGTH


@asynccontextmanager
async def answering(*pieces: bytes, close: bool = False) -> AsyncIterator[Connection]:
    """A connection to a server that answers every request with these pieces."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                for piece in pieces:
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0)
                if close:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    _, connection = await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", port)
    try:
        yield connection
    finally:
        connection.abort()
        server.close()
        for _ in range(10):
            await asyncio.sleep(0)


async def whole(connection: Connection) -> bytes:
    parts = []
    while part := await connection.read():
        parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize("answer", [CHUNKED, LENGTH, INFORMED], ids=["chunked", "length", "informed"])
@settings(max_examples=15, deadline=None)
@given(cuts=st.lists(st.integers(0, 90), max_size=6))
async def test_it_reads_the_same_in_any_pieces_again_and_again(answer: bytes, cuts: list[int]) -> None:
    edges = sorted({0, len(answer), *(cut for cut in cuts if cut < len(answer))})
    pieces = [answer[start:end] for start, end in pairwise(edges)]
    async with asyncio.timeout(20), answering(*pieces) as connection:
        for _ in range(2):
            await connection.request(HEAD, b"", headless=False)
            assert (connection.status, await whole(connection)) == (200, b"abcde")
            assert connection.reusable
        assert answer is CHUNKED or ("x-a", "b") in connection.headers
        assert "link" not in dict(connection.headers)


async def test_trailers_have_a_bound() -> None:
    endless = [b"x: " + b"a" * 65536] * (HEAD_BYTES_MAX // 65536 + 4)
    async with asyncio.timeout(20), answering(CHUNKED[:-2], *endless) as connection:
        await connection.request(HEAD, b"", headless=False)
        with pytest.raises(Broken, match="exceeded"):
            await whole(connection)


async def test_a_body_without_a_length_ends_with_the_connection() -> None:
    async with answering(UNTIL_CLOSE, close=True) as connection:
        await connection.request(HEAD, b"", headless=False)
        assert await whole(connection) == b"abcde"
        assert not connection.reusable


@pytest.mark.parametrize("answer", [CHUNKED[:-5], LENGTH[:-1]], ids=["chunked", "length"])
async def test_one_that_ends_early_is_broken(answer: bytes) -> None:
    async with answering(answer, close=True) as connection:
        await connection.request(HEAD, b"", headless=False)
        with pytest.raises(Broken, match="unexpected EOF"):
            await whole(connection)


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([b"SSH-2.0-x\r\n"], "malformed"),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"], "malformed"),
        (
            [b"HTTP/1.1 200 OK\r\n", *[b"x-a: " + b"b" * 1000 + b"\r\n"] * (HEAD_BYTES_MAX // 1000 + 2)],
            "exceeded",
        ),
        ([], "EOF"),
    ],
    ids=["other protocol", "bad length", "endless head", "nothing"],
)
async def test_what_is_no_answer_is_broken(pieces: list[bytes], text: str) -> None:
    async with asyncio.timeout(20), answering(*pieces, close=not pieces) as connection:
        with pytest.raises(Broken, match=text):
            await connection.request(HEAD, b"", headless=False)


@pytest.mark.parametrize("answer", [LENGTH, CHUNKED], ids=["length", "chunked"])
async def test_an_answer_that_nobody_asked_for_is_nobody_s(answer: bytes) -> None:
    other = b"HTTP/1.1 500 No\r\nContent-Length: 4\r\nX-B: c\r\n\r\nevil"
    async with asyncio.timeout(20), answering(answer + other) as connection:
        await connection.request(HEAD, b"", headless=False)
        assert (connection.status, await whole(connection)) == (200, b"abcde")
        assert not connection.reusable
        assert "x-b" not in dict(connection.headers)


async def test_no_more_is_held_than_the_bound_and_what_came_at_once() -> None:
    size = 40 * HELD_BYTES_MAX
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size
    async with asyncio.timeout(20), answering(head, b"x" * size) as connection:
        await connection.request(HEAD, b"", headless=False)
        await connection.read()
        await asyncio.sleep(0.2)
        assert connection._held <= 2 * HELD_BYTES_MAX
        assert len(await whole(connection)) > 30 * HELD_BYTES_MAX


def test_a_header_cannot_hold_another_request() -> None:
    with pytest.raises(Broken, match='invalid header field value for "X-Remote-User"'):
        head_of("GET", b"/", [(b"X-Remote-User", b"a\r\nX-Remote-Group: system:masters")])
