"""What goes through which gate, at what cost, and what a client is told that does not come in."""

import resource
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import pytest

from kinepy import open_store
from kinepy_server.answer import Message, error_response, header_list, whole_body
from kinepy_server.auth.authenticate import ADMIN
from kinepy_server.context import Context
from kinepy_server.flow.connections import FILES_KEPT, Connections
from kinepy_server.flow.control import FlowControl
from kinepy_server.flow.gate import Gate, Place
from kinepy_server.flow.refusal import TooMany, send_refusal
from kinepy_server.health import handle_health
from kinepy_server.request import Request
from kinepy_server.resources.builtins import builtin_registry
from kinepy_server.seams import Page
from kinepy_server.server_settings import ServerSettings
from tests.http.writing import CONFIGMAPS, Api, api_over, configmap

SETTINGS = ServerSettings(requests_reading_max=4, requests_writing_max=4, requests_waiting_max=0)


@pytest.fixture
async def context() -> AsyncIterator[Context]:
    async with open_store("sqlite:///:memory:") as store:
        yield Context(store, builtin_registry(), SETTINGS)


@pytest.fixture
async def api(context: Context) -> AsyncIterator[Api]:
    pages = [Page("/readyz", handle_health)]
    async with api_over(context, controllers=["namespaces"], pages=pages) as api:
        yield api


@contextmanager
def full(gate: Gate) -> Iterator[None]:
    """Somebody holds every place of a gate."""
    places: list[Place] = []
    while (place := gate.enter(f"user-{len(places)}")) is not None:
        places.append(place)
    yield
    for place in places:
        place.leave()


async def test_who_does_not_come_in_is_told_in_the_originals_words(api: Api, context: Context) -> None:
    with full(context.flow.reading):
        answer = await api.get(CONFIGMAPS)
    assert (answer.code, answer.content) == (429, b"Too many requests, please try again later.\n")
    assert answer.header("retry-after") == ["1"]
    assert answer.header("content-type") == ["text/plain; charset=utf-8"]
    assert answer.header("x-content-type-options") == ["nosniff"]


async def test_the_refusal_made_beforehand_is_the_answer_to_the_error() -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await send_refusal("some-id", send)
    asked = request("get")
    asked.audit_id = "some-id"
    answer = error_response(TooMany(), asked)
    body = whole_body(asked, answer)
    length = (b"content-length", b"%d" % len(body))
    assert sent[0]["headers"] == [*header_list(asked, answer), length]
    assert (sent[0]["status"], sent[1]["body"]) == (answer.status, body)


async def test_readers_do_not_keep_writers_out(api: Api, context: Context) -> None:
    with full(context.flow.reading):
        assert (await api.post(CONFIGMAPS, configmap("a"))).code == 201
    with full(context.flow.writing):
        assert (await api.get(f"{CONFIGMAPS}/a")).code == 200
        assert (await api.post(CONFIGMAPS, configmap("b"))).code == 429
        assert (await api.delete(f"{CONFIGMAPS}/a")).code == 429
    assert (await api.get(f"{CONFIGMAPS}/b")).code == 404


async def test_one_user_does_not_keep_the_others_out(api: Api, context: Context) -> None:
    held = []
    while (place := context.flow.reading.enter("jane")) is not None:
        held.append(place)
    assert (await api.get(CONFIGMAPS)).code == 200
    for place in held:
        place.leave()


async def test_health_is_told_however_full_it_is(api: Api, context: Context) -> None:
    with full(context.flow.reading), full(context.flow.writing):
        assert (await api.get("/readyz")).code == 200
        assert (await api.get("/api")).code == 429


async def test_places_are_given_back_whatever_the_answer_was(api: Api, context: Context) -> None:
    for target in (CONFIGMAPS, f"{CONFIGMAPS}/none", "/api/v1/nothing", f"{CONFIGMAPS}?limit=x"):
        await api.get(target)
        await api.post(target, b"{")
    flow = context.flow
    assert (flow.reading.inside, flow.reading.held_bytes) == (0, 0)
    assert (flow.writing.inside, flow.writing.held_bytes) == (0, 0)


def request(
    verb: str, *, query: dict[str, list[str]] | None = None, headers: dict[str, str] | None = None
) -> Request:
    """A request for ConfigMaps."""
    return Request(
        "GET", "/", query or {}, headers or {}, ADMIN, is_resource=True, verb=verb, resource="configmaps"
    )


@pytest.mark.parametrize(
    ("headers", "cost"),
    [
        ({"content-length": "1000"}, 0),
        ({"content-length": "100000"}, 100_000),
        ({"transfer-encoding": "chunked"}, 3 * 1024 * 1024),
        ({"content-length": "99999999"}, 0),
        ({}, 0),
    ],
)
def test_a_body_costs_what_is_announced(headers: dict[str, str], cost: int) -> None:
    flow, asked = FlowControl(ServerSettings()), request("create", headers=headers)
    assert flow.enter(asked)
    assert flow.writing.held_bytes == cost
    asked.leave()
    assert flow.writing.held_bytes == 0


def test_a_list_costs_what_the_last_one_took() -> None:
    flow = FlowControl(ServerSettings(answers_bytes_max=80_000_000))
    first, second = request("list"), request("list")
    flow.enter(first)
    assert flow.reading.held_bytes == 10_000_000, "an eighth, when nothing is known"
    flow.answered(first, 200, 5_000_000)
    flow.enter(second)
    assert flow.reading.held_bytes == 10_000_000
    flow.answered(second, 200, 100)
    assert flow.reading.held_bytes == 5_000_000
    first.leave()
    second.leave()
    assert (flow.reading.held_bytes, flow.reading.inside) == (0, 0)


def test_a_large_object_is_counted_until_it_was_sent() -> None:
    flow, asked = FlowControl(ServerSettings()), request("get")
    asked.name = "a"
    flow.enter(asked)
    flow.answered(asked, 200, 1_000_000)
    assert flow.reading.held_bytes == 1_000_000
    asked.leave()
    assert flow.reading.held_bytes == 0


def test_a_watch_costs_a_page_when_it_begins_with_the_present() -> None:
    flow = FlowControl(ServerSettings())
    flow.enter(request("watch", query={"resourceVersion": ["7"]}))
    assert flow.reading.held_bytes == 0
    flow.enter(request("watch"))
    assert flow.reading.held_bytes == ServerSettings().scan_page_bytes


def test_connections_leave_files_for_the_database() -> None:
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert Connections(10_000_000).limit == files - FILES_KEPT
    assert Connections(10).limit == 10


def test_one_connection_more_than_the_limit_is_counted_as_refused() -> None:
    connections = Connections(1)
    assert [connections.full(["first"]), connections.full(["first", "second"])] == [False, True]
    assert connections.refused == 1
