"""The head of a request is bounded in size and in time."""

import asyncio
from collections.abc import AsyncIterator
from typing import TypeAlias

import pytest
import uvicorn
from uvicorn.server import ServerState

from bench.raw import hello
from kinepy_server.bounded_http import BoundedHttpProtocol

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


class Tight(BoundedHttpProtocol):
    head_bytes_max = 4096
    head_timeout_s = 0.05


Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
async def streams() -> AsyncIterator[Streams]:
    config = uvicorn.Config(hello, http=Tight, lifespan="off", log_config=None)
    config.load()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Tight(config, ServerState(), {}), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    yield reader, writer
    writer.close()
    server.close()


async def test_a_large_head_is_431(streams: Streams) -> None:
    reader, writer = streams
    writer.write(REQUEST[:-2])
    for _ in range(5):
        writer.write(b"X-Flood: " + b"x" * 1000 + b"\r\n")
    assert (await reader.readline()) == b"HTTP/1.1 431 Request Header Fields Too Large\r\n"


async def test_a_head_that_never_ends_is_cut(
    streams: Streams,
) -> None:
    reader, writer = streams
    writer.write(REQUEST[:-2])
    assert await reader.read() == b""


async def test_silence_is_cut(streams: Streams) -> None:
    reader, _ = streams
    assert await reader.read() == b""


async def test_an_idle_connection_is_kept_after_an_answer(
    streams: Streams,
) -> None:
    reader, writer = streams
    writer.write(REQUEST)
    assert (await reader.readuntil(b"{}")).startswith(b"HTTP/1.1 200")
    await asyncio.sleep(2 * Tight.head_timeout_s)  # longer than any head may take
    writer.write(REQUEST)
    assert (await reader.readuntil(b"{}")).startswith(b"HTTP/1.1 200")


async def test_an_answer_is_one_piece_and_continue_comes_before_it(streams: Streams) -> None:
    reader, writer = streams
    writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
    assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    writer.write(b"{}")
    answer = await reader.read(65536)
    assert answer.startswith(b"HTTP/1.1 201")
    assert answer.endswith(b"\r\n\r\n{}")


async def test_an_answer_without_a_body_does_not_wait_for_one(streams: Streams) -> None:
    reader, writer = streams
    writer.write(b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")


async def test_a_method_that_the_parser_does_not_know_reaches_the_application(streams: Streams) -> None:
    reader, writer = streams
    writer.write(b"FROB / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    ("head", "line"),
    [
        (b"GET / HTTP/1.1\r\n", b"400 Bad Request: missing required Host header"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n", b"400 Bad Request: too many Host headers"),
        (b"GET / HTTP/2.0\r\nHost: x\r\n", b"505 HTTP Version Not Supported: unsupported protocol version"),
        (b"GET /\r\nHost: x\r\n", b"400 Bad Request"),
    ],
)
async def test_what_is_no_request_of_http_1_is_refused(streams: Streams, head: bytes, line: bytes) -> None:
    reader, writer = streams
    writer.write(head + b"Content-Length: 2\r\n\r\n{}" + REQUEST)
    first, _, rest = (await reader.read()).partition(b"\r\n")
    assert first == b"HTTP/1.1 " + line
    assert rest.endswith(b"\r\n\r\n" + line)


async def test_http_1_0_needs_no_host(streams: Streams) -> None:
    reader, writer = streams
    writer.write(b"GET / HTTP/1.0\r\n\r\n")
    assert (await reader.read()).startswith(b"HTTP/1.1 200")
