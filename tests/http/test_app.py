"""The application: what a path means, bodies and their limits, headers, time limits, streams."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kinepy import open_store
from kinepy_server.answer import Streams
from kinepy_server.app import create_app
from kinepy_server.auth.authenticate import ADMIN, EveryoneIsAdmin
from kinepy_server.auth.authorize import Access
from kinepy_server.auth.authorizer import AlwaysAllow
from kinepy_server.context import Context
from kinepy_server.deadline import parse_duration
from kinepy_server.errors import PlainError
from kinepy_server.request import Request
from kinepy_server.request_info import decode_path, parse_query, parse_request, selected_name
from kinepy_server.resources.builtins import builtin_registry
from kinepy_server.response import Response, StreamResponse
from kinepy_server.seams import Page
from kinepy_server.server_settings import ServerSettings
from tests.http.writing import CONFIGMAPS, Api, api_over, configmap

PATHS = {
    ("GET", "/api/v1/configmaps"): "list v1 configmaps",
    ("GET", "/api/v1/configmaps?watch=1"): "watch v1 configmaps",
    ("GET", "/api/v1/configmaps?watch"): "watch v1 configmaps",
    ("GET", "/api/v1/configmaps?watch=false"): "list v1 configmaps",
    ("GET", "/api/v1/watch/namespaces/n/configmaps/a"): "watch v1 configmaps n a",
    ("GET", "/api/v1/namespaces"): "list v1 namespaces",
    ("GET", "/api/v1/namespaces/n"): "get v1 namespaces n n",
    ("PUT", "/api/v1/namespaces/n/finalize"): "update v1 namespaces n n finalize",
    ("POST", "/api/v1/namespaces/n/configmaps"): "create v1 configmaps n",
    ("DELETE", "/api/v1/namespaces/n/configmaps"): "deletecollection v1 configmaps n",
    ("DELETE", "/api/v1/namespaces/n/configmaps/a"): "delete v1 configmaps n a",
    ("PATCH", "/apis/g.io/v1/namespaces/n/things/a/status"): "patch g.io/v1 things n a status",
    ("HEAD", "/api/v1/namespaces/n/configmaps/a"): "get v1 configmaps n a",
    ("FROB", "/api/v1/namespaces/n/configmaps"): " v1 configmaps n",
    ("GET", "/apis/g.io/v1"): "get",
    ("GET", "/api/v1"): "get",
    ("GET", "/healthz/ping"): "get",
}


@pytest.mark.parametrize(("request_line", "meaning"), PATHS.items(), ids=str)
def test_what_a_request_means(request_line: tuple[str, str], meaning: str) -> None:
    method, target = request_line
    path, _, query = target.partition("?")
    info = parse_request(method, path, parse_query(query.encode()))
    version = f"{info.group}/{info.version}" if info.group else info.version
    parts = [version, info.resource, info.namespace, info.name, info.subresource]
    assert " ".join([info.verb, *filter(None, parts)]) == meaning


@pytest.mark.parametrize("raw", [b"/api/v1/a%", b"/api/%f", b"/api/v1/a%0g"])
def test_a_path_that_is_not_encoded_as_paths_are_is_refused(raw: bytes) -> None:
    with pytest.raises(PlainError) as refused:
        decode_path(raw)
    assert (refused.value.code, refused.value.text) == (400, "400 Bad Request")


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        (b"/a%2fb", "/a/b"),
        (b"/a%00b", "/a\0b"),
        (b"/%ff%c3%a9", "/\ufffd\u00e9"),
        (b"/%c0%af", "/\ufffd\ufffd"),
    ],
)
def test_a_path_may_hold_anything(raw: bytes, path: str) -> None:
    assert decode_path(raw) == path


@pytest.mark.parametrize("raw", [b"a=1&b=%zz&c=3", b"a=1&b;=2&c=3", b"a=1&c=3&x;y"])
def test_parameters_that_are_no_pairs_count_as_not_given(raw: bytes) -> None:
    assert parse_query(raw) == {"a": ["1"], "c": ["3"]}


def test_a_field_selector_can_name_one_object() -> None:
    assert selected_name(parse_query(b"fieldSelector=metadata.name%3Dx,status.phase%21%3Dy")) == "x"
    assert not selected_name(parse_query(b"fieldSelector=metadata.name%21%3Dx"))


@pytest.mark.parametrize(
    ("target", "code", "text"),
    [
        ("/frob", 404, "404 page not found\n"),
        ("/apis/none.io/v1/things", 404, "404 page not found\n"),
        ("/api/v2/configmaps", 404, "the server could not find the requested resource"),
        ("/api/v1/frobs", 404, "the server could not find the requested resource"),
        ("/api/v1/configmaps/a", 404, "the server could not find the requested resource"),
        (f"{CONFIGMAPS}/a/frob", 404, "the server could not find the requested resource"),
        (f"{CONFIGMAPS}/a/b/c/d", 404, "the server could not find the requested resource"),
    ],
)
async def test_what_is_not_served(memory_api: Api, target: str, code: int, text: str) -> None:
    reply = await memory_api.get(target)
    assert reply.code == code
    assert text in reply.content.decode()


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("POST", f"{CONFIGMAPS}/a"),
        ("PUT", CONFIGMAPS),
        ("DELETE", "/api/v1/configmaps"),
        ("FROB", CONFIGMAPS),
    ],
)
async def test_methods_that_an_address_does_not_have(memory_api: Api, method: str, target: str) -> None:
    reply = await memory_api(method, target)
    assert (reply.code, reply.body["reason"]) == (405, "MethodNotAllowed")


async def test_a_body_is_bounded_whether_announced_or_not() -> None:
    async with open_store("sqlite:///:memory:") as store:
        context = Context(store, builtin_registry(), ServerSettings(body_bytes_max=100))
        async with api_over(context) as api:
            for headers in ({}, {"content-length": "1000"}):
                reply = await api.post(CONFIGMAPS, b"x" * 1000, headers=headers)
                assert (reply.code, reply.message) == (413, "Request entity too large: limit is 100")


async def test_every_answer_has_the_originals_headers(memory_api: Api) -> None:
    reply = await memory_api.get(CONFIGMAPS, headers={"audit-id": "mine"})
    assert reply.header("audit-id") == ["mine"]
    assert reply.header("content-type") == ["application/json"]
    assert reply.header("cache-control") == ["no-cache, private"]
    assert reply.header("content-length") == [str(len(reply.content))]


async def test_large_answers_are_compressed_for_who_takes_it(memory_api: Api) -> None:
    await memory_api.post(CONFIGMAPS, configmap(data={"k": "v" * 200_000}))
    plain = await memory_api.get(f"{CONFIGMAPS}/a")
    packed = await memory_api.get(f"{CONFIGMAPS}/a", headers={"accept-encoding": "gzip"})
    assert packed.header("content-encoding") == ["gzip"]
    assert gzip.decompress(packed.content) == plain.content


async def test_people_get_indented_answers(memory_api: Api) -> None:
    reply = await memory_api.get(f"{CONFIGMAPS}/none", headers={"user-agent": "curl/8"})
    assert reply.content.startswith(b'{\n  "kind": "Status",\n')
    reply = await memory_api.get(f"{CONFIGMAPS}/none?pretty=false", headers={"user-agent": "curl/8"})
    assert reply.content.endswith(b"}\n")


async def slow(context: Context, request: Request) -> Response:
    await asyncio.Event().wait()
    raise AssertionError("never reached")


async def broken(context: Context, request: Request) -> Response:
    raise ZeroDivisionError


async def test_an_unexpected_failure_is_told_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with (
        open_store("sqlite:///:memory:") as store,
        api_over(Context(store, builtin_registry()), pages=[Page("/broken", broken)]) as api,
    ):
        reply = await api.get("/broken")
    assert reply.code == 500
    assert reply.content.startswith(b"This request caused apiserver to panic.")
    assert "ZeroDivisionError" in caplog.text


async def test_a_request_ends_with_its_time() -> None:
    async with (
        open_store("sqlite:///:memory:") as store,
        api_over(Context(store, builtin_registry()), pages=[Page("/slow/*", slow)]) as api,
    ):
        reply = await api.get("/slow/below?timeout=10ms")
        assert (reply.code, reply.body["reason"]) == (504, "Timeout")
        assert (await api.post("/slow", {})).code == 405


@pytest.mark.parametrize(
    ("text", "seconds"), [("0", 0), ("1m30s", 90), ("-1.5h", -5400), ("100ms", 0.1), (".5s", 0.5)]
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("abc", 'time: invalid duration "abc"'),
        ("10", 'time: missing unit in duration "10"'),
        ("1x", 'time: unknown unit "x" in duration "1x"'),
    ],
)
def test_bad_durations(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_duration(text)


class Connection:
    """The server's side of a connection whose client can go away."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()
        self.sent: list[dict[str, Any]] = []
        self.first = asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(message)
        if message.get("body"):
            self.first.set()


class Source:
    """One chunk, then silence; tells when it was closed."""

    closed = False

    async def chunks(self) -> AsyncIterator[bytes]:
        try:
            yield b"one\n"
            await asyncio.Event().wait()
        finally:
            self.closed = True


def streamed(streams: Streams, source: Source, connection: Connection) -> asyncio.Task[None]:
    request = Request("GET", "/", {}, {}, ADMIN, audit_id="x")
    answer = StreamResponse(200, source.chunks())
    return asyncio.create_task(
        streams.send(request, answer, send=connection.send, receive=connection.receive)
    )


async def test_a_stream_ends_when_the_client_goes() -> None:
    streams, source, connection = Streams(), Source(), Connection()
    task = streamed(streams, source, connection)
    await connection.first.wait()
    connection.gone.set()
    await task
    assert source.closed
    assert not len(streams)


async def test_streams_end_cleanly_when_the_server_stops() -> None:
    streams, source, connection = Streams(), Source(), Connection()
    task = streamed(streams, source, connection)
    await connection.first.wait()
    streams.end_all()
    await task
    assert source.closed
    assert connection.sent[-1] == {"type": "http.response.body", "body": b""}
    late = Connection()
    await streamed(streams, Source(), late)
    assert late.sent[-1] == {"type": "http.response.body", "body": b""}


async def test_shutdown_ends_open_watches() -> None:
    async with open_store("sqlite:///:memory:") as store:
        context = Context(store, builtin_registry())
        app = create_app(
            context, authenticate=EveryoneIsAdmin(), authorize=Access(AlwaysAllow()), controllers=()
        )
        lifespan, started = Connection(), asyncio.Event()
        stop = asyncio.Event()

        async def receive() -> dict[str, Any]:
            if not started.is_set():
                started.set()
                return {"type": "lifespan.startup"}
            await stop.wait()
            return {"type": "lifespan.shutdown"}

        running = asyncio.create_task(app({"type": "lifespan", "app": app}, receive, lifespan.send))
        await started.wait()
        watch = asyncio.create_task(Api(app).get(f"{CONFIGMAPS}?watch=true"))
        context.shutdown.set()
        assert (await asyncio.wait_for(watch, 5)).code == 200
        stop.set()
        await running
