"""Watch: the state that was asked for, then every change, once, in order, as the selectors see it."""

import asyncio

import pytest

from kinepy import Settings, open_store
from kinepy_server.context import Context
from kinepy_server.resources.builtins import builtin_registry
from kinepy_server.server_settings import ServerSettings
from tests.http.reading import removed, resource, stored, watching

CONFIGMAPS, SECRETS = resource(), resource("secrets")
EVENTS, NEW_EVENTS = resource("events"), resource("events", "events.k8s.io")
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
INITIAL = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}


@pytest.mark.parametrize("version", ["", "0"])
async def test_a_watch_without_revision_tells_the_present_state_first(context: Context, version: str) -> None:
    b, a = await stored(context, CONFIGMAPS, "b"), await stored(context, CONFIGMAPS, "a")
    async with watching(context, CONFIGMAPS, resourceVersion=version) as stream:
        assert [await stream.told(), await stream.told()] == [("ADDED", "a", a), ("ADDED", "b", b)]
        c = await stored(context, CONFIGMAPS, "c")
        assert await stream.told() == ("ADDED", "c", c)


async def test_a_watch_from_a_revision_tells_every_later_change_in_order(context: Context) -> None:
    start = await stored(context, CONFIGMAPS, "a", data={"v": "1"})
    changed = await stored(context, CONFIGMAPS, "a", data={"v": "2"})
    other = await stored(context, CONFIGMAPS, "b")
    gone = await removed(context, CONFIGMAPS, "a")
    async with watching(context, CONFIGMAPS, resourceVersion=str(start)) as stream:
        assert await stream.told() == ("MODIFIED", "a", changed)
        assert await stream.told() == ("ADDED", "b", other)
        last = await stream.event()
    assert (last["type"], last["object"]["data"]) == ("DELETED", {"v": "2"})
    assert last["object"]["metadata"]["resourceVersion"] == str(gone)
    assert (last["object"]["kind"], last["object"]["apiVersion"]) == ("ConfigMap", "v1")


async def test_a_deleted_and_recreated_object_is_two_events(context: Context) -> None:
    start = await stored(context, CONFIGMAPS, "a")
    gone, again = await removed(context, CONFIGMAPS, "a"), await stored(context, CONFIGMAPS, "a")
    async with watching(context, CONFIGMAPS, resourceVersion=str(start)) as stream:
        assert [await stream.told(), await stream.told()] == [("DELETED", "a", gone), ("ADDED", "a", again)]


async def test_objects_enter_and_leave_a_selector(context: Context) -> None:
    start = await stored(context, CONFIGMAPS, "a", labels={"s": "no"})
    entered = await stored(context, CONFIGMAPS, "a", labels={"s": "yes"}, data={"v": "1"})
    stayed = await stored(context, CONFIGMAPS, "a", labels={"s": "yes"}, data={"v": "2"})
    left = await stored(context, CONFIGMAPS, "a", labels={"s": "no"}, data={"v": "3"})
    await stored(context, CONFIGMAPS, "a", labels={"s": "no"}, data={"v": "4"})
    async with watching(context, CONFIGMAPS, resourceVersion=str(start), labelSelector="s=yes") as stream:
        assert await stream.told() == ("ADDED", "a", entered)
        assert await stream.told() == ("MODIFIED", "a", stayed)
        event = await stream.event()
        assert (event["type"], event["object"]["data"]) == ("DELETED", {"v": "2"})
        assert event["object"]["metadata"]["resourceVersion"] == str(left)
        back = await stored(context, CONFIGMAPS, "a", labels={"s": "yes"})
        assert await stream.told() == ("ADDED", "a", back)


async def test_watchers_with_other_selectors_do_not_share_types(context: Context) -> None:
    start = await stored(context, CONFIGMAPS, "a", labels={"s": "no"})
    revision = await stored(context, CONFIGMAPS, "a", labels={"s": "yes"})
    seen = []
    for query in ({}, {"labelSelector": "s=yes"}, {"labelSelector": "s=no"}, {"labelSelector": "s"}):
        async with watching(context, CONFIGMAPS, resourceVersion=str(start), **query) as stream:
            seen.append(await stream.told())
    types = ["MODIFIED", "ADDED", "DELETED", "MODIFIED"]
    assert seen == [(event_type, "a", revision) for event_type in types]


async def test_one_name_is_watched_alone(context: Context) -> None:
    start = await stored(context, CONFIGMAPS, "b")
    await stored(context, CONFIGMAPS, "c")
    a = await stored(context, CONFIGMAPS, "a")
    query = {"resourceVersion": str(start)}
    async with watching(context, CONFIGMAPS, fieldSelector="metadata.name=a", **query) as stream:
        assert await stream.told() == ("ADDED", "a", a)
    async with watching(context, CONFIGMAPS, "a", **query) as stream:
        assert await stream.told() == ("ADDED", "a", a)


async def test_other_types_and_namespaces_are_not_told(context: Context) -> None:
    start = await stored(context, SECRETS, "a")
    await stored(context, CONFIGMAPS, "a", "other")
    mine = await stored(context, CONFIGMAPS, "a")
    async with watching(context, CONFIGMAPS, resourceVersion=str(start)) as stream:
        assert await stream.told() == ("ADDED", "a", mine)
    async with watching(context, CONFIGMAPS, namespace="", resourceVersion=str(start)) as stream:
        assert [(await stream.event())["object"]["metadata"]["namespace"] for _ in "12"] == ["other", "ns"]


async def test_the_initial_state_ends_with_one_marked_bookmark(context: Context) -> None:
    a = await stored(context, CONFIGMAPS, "a")
    newest = await stored(context, SECRETS, "s")
    async with watching(context, CONFIGMAPS, **INITIAL, resourceVersion=str(a)) as stream:
        assert await stream.told() == ("ADDED", "a", a)
        end = await stream.event()
        assert end == {
            "type": "BOOKMARK",
            "object": {
                "kind": "ConfigMap",
                "apiVersion": "v1",
                "metadata": {
                    "resourceVersion": str(newest),
                    "annotations": {"k8s.io/initial-events-end": "true"},
                },
            },
        }
        b = await stored(context, CONFIGMAPS, "b")
        assert await stream.told() == ("ADDED", "b", b)


async def test_the_end_of_an_empty_state_is_marked_too(context: Context) -> None:
    async with watching(context, CONFIGMAPS, **INITIAL, labelSelector="none") as stream:
        assert (await stream.event())["type"] == "BOOKMARK"


async def test_the_end_is_not_marked_for_clients_that_take_no_bookmarks(context: Context) -> None:
    query = {**INITIAL, "allowWatchBookmarks": "false"}
    async with watching(context, CONFIGMAPS, **query) as stream:
        waiting = asyncio.create_task(stream.told())
        b = await stored(context, CONFIGMAPS, "b")
        assert await waiting == ("ADDED", "b", b)


async def test_without_initial_events_a_watch_starts_now(context: Context) -> None:
    await stored(context, CONFIGMAPS, "a")
    query = {"sendInitialEvents": "false", "resourceVersionMatch": "NotOlderThan"}
    async with watching(context, CONFIGMAPS, **query) as stream:
        b = await stored(context, CONFIGMAPS, "b")
        assert await stream.told() == ("ADDED", "b", b)


async def test_a_compacted_revision_is_an_error_event_and_the_end(context: Context) -> None:
    first = await stored(context, CONFIGMAPS, "a")
    for value in "123":
        compacted = await stored(context, CONFIGMAPS, "a", data={"v": value})
    await context.store.compact()
    async with watching(context, CONFIGMAPS, resourceVersion=str(first)) as stream:
        events = await stream.rest()
    assert [event["type"] for event in events] == ["ERROR"]
    status = events[0]["object"]
    assert (status["kind"], status["code"], status["reason"]) == ("Status", 410, "Expired")
    assert status["message"] == f"too old resource version: {first} ({compacted - 1})"


async def test_the_revision_before_the_compacted_one_can_still_be_watched(context: Context) -> None:
    await stored(context, CONFIGMAPS, "a")
    compacted = await removed(context, CONFIGMAPS, "a")
    await context.store.compact()
    async with watching(context, CONFIGMAPS, resourceVersion=str(compacted - 1)) as stream:
        assert await stream.told() == ("DELETED", "a", compacted)
    async with watching(context, CONFIGMAPS, resourceVersion=str(compacted - 2)) as stream:
        assert (await stream.event())["type"] == "ERROR"


async def test_a_future_revision_is_silent_until_it_comes(context: Context) -> None:
    now = await stored(context, CONFIGMAPS, "a")
    async with watching(context, CONFIGMAPS, resourceVersion=str(now + 1)) as stream:
        await stored(context, CONFIGMAPS, "b")
        c = await stored(context, CONFIGMAPS, "c")
        assert await stream.told() == ("ADDED", "c", c)


async def test_an_initial_state_of_the_future_is_an_error_event(impatient: Context) -> None:
    async with watching(impatient, CONFIGMAPS, **INITIAL, resourceVersion="1000") as stream:
        (event,) = await stream.rest()
    assert (event["type"], event["object"]["code"]) == ("ERROR", 504)
    assert event["object"]["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


async def test_a_watch_ends_cleanly_at_its_time(context: Context) -> None:
    async with watching(context, CONFIGMAPS, timeoutSeconds="1") as stream:
        assert await stream.rest() == []


async def test_bookmarks_follow_every_write_of_the_store(hasty: Context) -> None:
    start = await stored(hasty, CONFIGMAPS, "a")
    query = {"resourceVersion": str(start), "allowWatchBookmarks": "true"}
    async with watching(hasty, CONFIGMAPS, **query) as stream:
        other = await stored(hasty, SECRETS, "s")
        while (told := await stream.told()) != ("BOOKMARK", "", other):
            assert told == ("BOOKMARK", "", start)


async def test_bookmarks_never_say_less_than_the_client_knows(hasty: Context) -> None:
    ahead = await stored(hasty, CONFIGMAPS, "a") + 2
    query = {"resourceVersion": str(ahead), "allowWatchBookmarks": "true", "timeoutSeconds": "1"}
    async with watching(hasty, CONFIGMAPS, **query) as stream:
        assert await stream.rest() == []


async def test_a_closed_store_ends_watches_without_a_word() -> None:
    async with open_store("sqlite:///:memory:") as store:
        context = Context(store, builtin_registry())
        async with watching(context, CONFIGMAPS) as stream:
            waiting = asyncio.create_task(stream.rest())
            await asyncio.sleep(0)
            await store.close()
            assert await waiting == []


async def test_a_reader_that_is_too_slow_is_ended_without_a_word() -> None:
    async with open_store("sqlite:///:memory:", Settings(watch_queue_events_max=4)) as store:
        context = Context(store, builtin_registry())
        start = await stored(context, CONFIGMAPS, "a")
        async with watching(context, CONFIGMAPS, resourceVersion=str(start)) as stream:
            first = await stored(context, CONFIGMAPS, "b")
            assert await stream.told() == ("ADDED", "b", first)
            for number in range(20):
                await stored(context, CONFIGMAPS, f"c{number}")
            assert all(event["type"] == "ADDED" for event in await stream.rest())
        assert context.slow_watches == {("", "configmaps"): 1}


async def test_columns_come_with_the_first_row_of_a_table_watch(context: Context) -> None:
    a = await stored(context, CONFIGMAPS, "a", data={"k": "v"})
    async with watching(context, CONFIGMAPS, accept=TABLE, **INITIAL) as stream:
        added, end = await stream.event(), await stream.event()
    assert added["object"]["metadata"] == {"resourceVersion": str(a)}
    assert [column["name"] for column in added["object"]["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert end["object"]["columnDefinitions"] is None
    row = end["object"]["rows"][0]
    assert row["cells"] == ["", 0, "<unknown>"]
    assert row["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_a_watch_of_metadata_shows_no_more(context: Context) -> None:
    await stored(context, CONFIGMAPS, "a", data={"k": "v"})
    async with watching(context, CONFIGMAPS, accept=PARTIAL, **INITIAL) as stream:
        added, end = await stream.event(), await stream.event()
    assert set(added["object"]) == {"kind", "apiVersion", "metadata"}
    assert {added["object"]["kind"], end["object"]["kind"]} == {"PartialObjectMetadata"}


async def test_event_watches_of_both_groups_see_both(context: Context) -> None:
    start = await stored(context, CONFIGMAPS, "a")
    await stored(context, EVENTS, "e", message="hello")
    for kind, field in ((EVENTS, "message"), (NEW_EVENTS, "note")):
        async with watching(context, kind, resourceVersion=str(start)) as stream:
            shown = (await stream.event())["object"]
        assert (shown["apiVersion"], shown[field]) == (kind.api_version, "hello")


async def test_lines_are_encoded_once_and_kept_within_a_bound() -> None:
    settings = ServerSettings(watch_line_cache_bytes=2000)
    async with open_store("sqlite:///:memory:") as store:
        context = Context(store, builtin_registry(), settings)
        start = await stored(context, CONFIGMAPS, "a")
        for number in range(50):
            await stored(context, CONFIGMAPS, "a", data={"n": str(number)})
        for _ in "12":
            async with watching(context, CONFIGMAPS, resourceVersion=str(start)) as stream:
                told = [await stream.told() for _ in range(50)]
            assert [revision for _, _, revision in told] == list(range(start + 1, start + 51))
        assert 0 < context.lines.bytes <= 2000
