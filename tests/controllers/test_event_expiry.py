"""Events live `event_ttl_s` after their last write (DEL-10), each dies once and in a revision of its own."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from kinepy import EventType, KeyRange, Revision
from kinepy.records import Event, KeyValue
from kinepy_server.context import Context
from kinepy_server.controllers import running_controllers
from kinepy_server.controllers.events import KnownEvents
from tests.http.writing import Api, api_over

EVENTS = "/api/v1/namespaces/default/events"
NEW_EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
PREFIX = KeyRange.prefix(b"/registry/events/")
INVOLVED = {"kind": "ConfigMap", "name": "a", "namespace": "default"}


async def make(api: Api, name: str) -> Any:
    body = {"metadata": {"name": name}, "involvedObject": INVOLVED, "reason": "r", "type": "Normal"}
    reply = await api.post(EVENTS, body)
    assert reply.code == 201, reply.body
    return reply


def short_lived(context: Context, ttl_s: int = 1) -> Context:
    context.settings = replace(context.settings, event_ttl_s=ttl_s)
    return context


async def deaths(context: Context, count: int, *, start: Revision) -> list[Event]:
    """The next deletes of events."""
    found: list[Event] = []
    async with asyncio.timeout(20), context.store.watch(PREFIX, start=start) as watch:
        while len(found) < count:
            batch = await watch.next()
            found += [event for event in (batch.events if batch else ()) if event.type is EventType.DELETE]
    return found


async def test_events_go_after_their_time_each_in_its_own_revision(context: Context) -> None:
    async with api_over(short_lived(context), controllers=["events"]) as api:
        first = Revision(int((await make(api, "a")).version))
        for name in ("b", "c"):
            await make(api, name)
        died = await deaths(context, 3, start=first)
    assert [event.kv.key.rpartition(b"/")[2] for event in died] == [b"a", b"b", b"c"]
    assert len({event.revision for event in died}) == 3


async def test_an_event_lives_on_when_it_is_written_again(context: Context) -> None:
    async with api_over(context) as api:
        await make(api, "old")
        await make(api, "again")
        while await context.store.revision_before(age_s=1) is None:
            await context.store.put(b"/other", b"")
        await api.patch(f"{EVENTS}/again", {"count": 2})
    async with running_controllers(short_lived(context), ["events"]):
        died = await deaths(context, 1, start=Revision(1))
    assert died[0].kv.key.endswith(b"/old")
    assert await context.store.get(b"/registry/events/default/again") is not None


async def test_young_events_stay(context: Context) -> None:
    async with api_over(short_lived(context, 3600), controllers=["events"]) as api:
        await make(api, "a")
        assert (await api.get(f"{NEW_EVENTS}/a")).code == 200


async def test_two_servers_end_an_event_once(two_contexts: tuple[Context, Context]) -> None:
    one, other = map(short_lived, two_contexts)
    async with api_over(one, controllers=["events"]) as api, api_over(other, controllers=["events"]):
        first = Revision(int((await make(api, "a")).version))
        died = await deaths(other, 1, start=first)
    assert len(died) == 1


def put(key: bytes, revision: int) -> Event:
    return Event(EventType.PUT, KeyValue(key, b"", Revision(revision), Revision(revision), 1), None)


def gone(key: bytes, revision: int) -> Event:
    return Event(EventType.DELETE, KeyValue(key, b"", Revision(0), Revision(revision), 0), None)


def test_what_is_known_is_taken_by_its_last_write() -> None:
    known = KnownEvents()
    known.start([put(b"a", 5).kv, put(b"b", 3).kv, put(b"c", 4).kv])
    known.apply([put(b"b", 6), gone(b"c", 7)])
    assert known.take(Revision(5)) == [(b"a", 5)]
    assert known.take(Revision(9)) == [(b"b", 6)]
    assert len(known) == 0


@pytest.mark.parametrize("late", [put(b"a", 4), gone(b"a", 4)])
def test_news_that_is_older_than_what_is_known_changes_nothing(late: Event) -> None:
    known = KnownEvents()
    known.start([put(b"a", 5).kv])
    known.apply([late])
    assert known.take(Revision(5)) == [(b"a", 5)]
