"""Answers of backends come as they are made, no faster than the client takes them, and end when either side does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import httpx
import orjson
import pytest
import websockets

from kinepy_server.server_settings import ServerSettings
from tests.aggregation.aggregating import aggregate
from tests.aggregation.backend import FLUNDERS, ROOT, Asked, Backend, running_backend
from tests.aggregation.serving import Served, served

WATCH = f"{FLUNDERS}?watch=true"
PATIENCE_S = 20.0


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    """A running server with the backend's API."""
    async with served() as found:
        yield found


@pytest.fixture
async def behind(server: Served) -> AsyncIterator[Backend]:
    """The backend, behind the server."""
    async with running_backend() as backend:
        await aggregate(server, server, backend)
        yield backend


def event(name: str) -> dict[str, object]:
    return {"type": "ADDED", "object": {"metadata": {"name": name}}}


async def test_every_event_of_a_watch_comes_at_once(server: Served, behind: Backend) -> None:
    async with asyncio.timeout(PATIENCE_S), server.http.stream("GET", WATCH) as answer:
        assert answer.headers["transfer-encoding"] == "chunked"
        lines = answer.aiter_lines()
        for name in "abc":
            behind.events.put_nowait(event(name))
            assert orjson.loads(await anext(lines)) == event(name)


async def test_watches_keep_no_other_request_out() -> None:
    few = ServerSettings(requests_reading_max=2, requests_waiting_max=1, request_wait_s=1)
    async with served(settings=few) as server, running_backend() as backend, AsyncExitStack() as watches:
        await aggregate(server, server, backend)
        for _ in range(5):
            answer = await watches.enter_async_context(server.http.stream("GET", WATCH))
            assert answer.status_code == 200
        assert (await server.get(FLUNDERS)).code == 200


async def test_a_watch_that_a_backend_lets_wait_keeps_others_out_for_a_while_only() -> None:
    few = ServerSettings(requests_reading_max=1, request_timeout_s=0.2)

    reached = asyncio.Event()

    async def hang(asked: Asked) -> None:
        reached.set()
        await asyncio.Event().wait()

    async with served(settings=few) as server, running_backend() as backend, asyncio.timeout(PATIENCE_S):
        await aggregate(server, server, backend)
        backend.answer = hang
        watching = asyncio.create_task(server.http.get(WATCH, timeout=None))
        await reached.wait()
        assert (await server.get("/api/v1/namespaces/default/services")).code == 200
        watching.cancel()


async def test_a_client_that_leaves_takes_its_watch_with_it(server: Served, behind: Backend) -> None:
    async with server.http.stream("GET", WATCH):
        pass
    # The backend notices when it writes.
    async with asyncio.timeout(PATIENCE_S):
        while not behind.left.is_set():
            behind.events.put_nowait(event("a"))
            await asyncio.sleep(0.01)


async def test_a_client_that_leaves_before_the_answer_takes_its_request_with_it(
    server: Served, behind: Backend
) -> None:
    asked, left = asyncio.Event(), asyncio.Event()

    async def hang(request: Asked) -> None:
        asked.set()
        await request.writer.wait_closed()

    async def watch_out(request: Asked) -> None:
        try:
            await hang(request)
        finally:
            left.set()

    behind.answer = watch_out
    getting = asyncio.create_task(server.http.get(WATCH))
    async with asyncio.timeout(PATIENCE_S):
        await asked.wait()
        getting.cancel()
        await left.wait()


async def test_what_is_cut_in_the_middle_is_not_taken_for_whole(server: Served, behind: Backend) -> None:
    async def cut(asked: Asked) -> None:
        await asked.begin()
        await asked.chunk(b'{"type":"ADDED",')
        asked.writer.transport.abort()

    behind.answer = cut
    for target in (WATCH, FLUNDERS):
        with pytest.raises(httpx.RemoteProtocolError):
            await server.http.get(target)
    assert (await server.http.get("/version")).status_code == 200


async def test_a_long_body_that_is_cut_is_not_taken_for_whole(server: Served, behind: Backend) -> None:
    async def cut(asked: Asked) -> None:
        asked.writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n" + b"x" * 200_000)
        await asked.writer.drain()
        asked.writer.transport.abort()

    behind.answer = cut
    with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
        await server.http.get(FLUNDERS)


async def test_a_large_list_comes_whole_and_byte_for_byte(server: Served, behind: Backend) -> None:
    body = orjson.dumps({"items": ["x" * 1000] * 10_000})

    async def large(asked: Asked) -> None:
        await asked.answer(200, body)

    behind.answer = large
    reply = await server.http.get(FLUNDERS)
    assert reply.content == body
    assert reply.headers["content-length"] == str(len(body))


async def test_a_client_that_does_not_read_holds_up_its_backend_only(server: Served, behind: Backend) -> None:
    written = 0

    async def endless(asked: Asked) -> None:
        nonlocal written
        await asked.begin()
        while True:
            await asked.chunk(b"x" * 65536)
            written += 1

    behind.answer = endless
    async with server.http.stream("GET", WATCH) as answer:
        parts = answer.aiter_raw()
        await anext(parts)
        before = -1
        async with asyncio.timeout(PATIENCE_S):
            while written != before:
                before = written
                await asyncio.sleep(0.3)
        assert written < 1000, "the server holds what nobody takes"
        assert (await server.http.get("/version")).status_code == 200
        while written == before:
            await anext(parts)


async def test_an_answer_that_takes_too_long_is_cut() -> None:
    async with served(settings=ServerSettings(request_timeout_s=1.0)) as server, running_backend() as backend:
        await aggregate(server, server, backend)

        async def slow(asked: Asked) -> None:
            await asked.begin()
            while True:
                await asked.chunk(b"x")
                await asyncio.sleep(0.05)

        backend.answer = slow
        with pytest.raises(httpx.RemoteProtocolError):
            await server.http.get(FLUNDERS)


async def test_one_that_does_not_begin_to_answer_is_told_in_time() -> None:
    async with served(settings=ServerSettings(request_timeout_s=0.5)) as server, running_backend() as backend:
        await aggregate(server, server, backend)

        async def hang(asked: Asked) -> None:
            await asked.writer.wait_closed()

        backend.answer = hang
        reply = await server.http.get(FLUNDERS)
        assert (reply.status_code, reply.json()["reason"]) == (504, "Timeout")


async def test_watches_end_cleanly_when_the_server_stops(server: Served, behind: Backend) -> None:
    async with asyncio.timeout(PATIENCE_S), server.http.stream("GET", WATCH) as answer:
        behind.events.put_nowait(event("a"))
        lines = answer.aiter_lines()
        await anext(lines)
        server.stop.set()
        assert [line async for line in lines] == []


async def test_a_watch_over_a_websocket_has_a_frame_for_each_event(server: Served, behind: Backend) -> None:
    async def halves(asked: Asked) -> None:
        line = orjson.dumps(event("a")) + b"\n"
        await asked.begin()
        await asked.chunk(line[:10])
        await asked.chunk(line[10:] + line + line[:20])
        await asked.chunk(line[20:])
        await asked.chunk(b"")

    behind.answer = halves
    async with websockets.connect(f"ws://127.0.0.1:{server.port}{WATCH}", proxy=None) as socket:
        frames = [orjson.loads(frame) async for frame in socket]
    assert frames == [event("a")] * 3
    told = {name for name, _ in behind.asked[-1].headers}
    assert not told & {"upgrade", "connection", "sec-websocket-key", "sec-websocket-version"}


async def test_a_frame_of_a_websocket_is_text_whatever_a_backend_sends(
    server: Served, behind: Backend
) -> None:
    async def odd(asked: Asked) -> None:
        await asked.begin()
        await asked.chunk(b'{"a":\r1}\n\n{"b":"\xff"}\n')
        await asked.chunk(b"")

    behind.answer = odd
    async with websockets.connect(f"ws://127.0.0.1:{server.port}{WATCH}", proxy=None) as socket:
        assert [frame async for frame in socket] == ['{"a":\r1}', '{"b":"\ufffd"}']


async def test_a_refusal_of_unknown_length_is_no_watch_over_a_websocket(
    server: Served, behind: Backend
) -> None:
    async def refuse(asked: Asked) -> None:
        asked.writer.write(b"HTTP/1.1 404 Not Found\r\ntransfer-encoding: chunked\r\n\r\n")
        await asked.chunk(b'{"kind":')
        await asked.chunk(b'"Status"}')
        await asked.chunk(b"")

    behind.answer = refuse
    with pytest.raises(websockets.InvalidStatus) as refused:
        await websockets.connect(f"ws://127.0.0.1:{server.port}{WATCH}", proxy=None)
    answer = refused.value.response
    assert (answer.status_code, bytes(answer.body or b"")) == (404, b'{"kind":"Status"}')


async def test_head_has_the_length_of_what_get_would_bring(server: Served, behind: Backend) -> None:
    async def headless(asked: Asked) -> None:
        asked.writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 77\r\n\r\n")
        await asked.writer.drain()

    behind.answer = headless
    reply = await server.http.head(ROOT)
    assert (reply.status_code, reply.headers["content-length"], reply.content) == (200, "77", b"")


@pytest.mark.parametrize("status", [200, 403, 404])
async def test_no_header_is_said_twice(server: Served, behind: Backend, status: int) -> None:
    async def kubernetes(asked: Asked) -> None:
        headers = {
            "audit_id": "x",
            "date": "then",
            "cache_control": "no-store",
            "x_content_type_options": "nosniff",
        }
        await asked.answer(status, b"{}", **headers)

    behind.answer = kubernetes
    headers = (await server.http.get(FLUNDERS)).headers
    names = [name for name, _ in headers.multi_items()]
    assert sorted(names) == sorted(set(names))
    assert (headers["cache-control"], headers["x-content-type-options"]) == ("no-store", "nosniff")


async def test_the_client_s_address_is_told(server: Served, behind: Backend) -> None:
    await server.http.get(FLUNDERS, headers={"x-forwarded-for": "10.0.0.9"})
    assert behind.asked[-1].header("x-forwarded-for") == ["10.0.0.9, 127.0.0.1"]
    assert behind.asked[-1].header("host") == [f"127.0.0.1:{server.port}"]
