"""P6: every matching event after the start, once, in order, a revision never split, progress never ahead."""

import asyncio
from dataclasses import replace

import pytest

from kinepy import Event, EventType, KeyRange, Put, Revision, Store, Txn, WatchBatch
from kinepy.errors import StoreClosed
from tests.contract.conftest import OpenStore
from tests.contract.stores import ALL, FAST, checked_store, events_upto

A = KeyRange.prefix(b"/a/")
NO_RING = replace(FAST, ring_bytes_max=0, page_rows_max=4)


def told(events: list[Event]) -> list[tuple[str, bytes, int]]:
    """Events in short."""
    return [(event.type.value, event.kv.key, event.revision) for event in events]


async def test_a_watch_tells_creates_updates_and_deletes_with_what_was_before(store: Store) -> None:
    async with store.watch(ALL) as watch:
        created = await store.create(b"a", b"1")
        updated = await store.update(b"a", b"2")
        await store.delete(b"a")
        first, second, third = await events_upto(watch, Revision(4))
    assert (first.kv, first.previous, first.is_create) == (created, None, True)
    assert (second.kv, second.previous, second.is_create) == (updated, created, False)
    assert (third.type, third.previous, third.revision) == (EventType.DELETE, updated, 4)
    assert (third.kv.key, third.kv.value, third.kv.version) == (b"a", b"", 0)


@pytest.mark.parametrize(
    "key_range",
    [
        A,
        KeyRange.prefix(b"/a"),
        KeyRange.single(b"/a/1"),
        KeyRange(b"/a/1", b"/b"),
        KeyRange(b"/a/2", None),
        ALL,
    ],
)
async def test_a_watch_tells_matching_keys_only(store: Store, key_range: KeyRange) -> None:
    keys = [b"/a/1", b"/a/2", b"/ab", b"/b/1", b"/a"]
    async with store.watch(key_range) as live:
        for key in keys:
            await store.create(key, b"")
        async with store.watch(key_range, start=Revision(2)) as past:
            for watch in (live, past):
                events = await events_upto(watch, store.applied_revision)
                assert [event.kv.key for event in events] == [key for key in keys if key in key_range]


@pytest.mark.parametrize("settings", [FAST, NO_RING], ids=["ring", "sql"])
async def test_history_and_live_meet_without_a_seam(open_with: OpenStore, settings: object) -> None:
    async with open_with(settings) as store:  # type: ignore[arg-type]  # parametrize loses the type
        for n in range(30):
            await store.put(b"k%d" % (n % 4), b"%d" % n)
        watches = [store.watch(ALL, start=Revision(start)) for start in (2, 17, 31, 32, 40)]

        async def writer() -> None:
            for n in range(30):
                await store.put(b"k%d" % (n % 4), b"%d" % n)

        async with asyncio.TaskGroup() as group:
            group.create_task(writer())
            tasks = [group.create_task(events_upto(watch, Revision(61))) for watch in watches]
        revisions = [[event.revision for event in task.result()] for task in tasks]
        assert revisions == [list(range(start, 62)) for start in (2, 17, 31, 32, 40)]


@pytest.mark.parametrize("settings", [FAST, NO_RING], ids=["ring", "sql"])
async def test_a_revision_is_never_split(open_with: OpenStore, settings: object) -> None:
    async with open_with(settings) as store:  # type: ignore[arg-type]  # parametrize loses the type
        live = store.watch(ALL)
        for n in range(6):
            await store.txn(Txn(then=[Put(key=b"%d" % key, value=b"%d" % n) for key in range(7)]))
        for watch in (live, store.watch(ALL, start=Revision(2))):
            batches: list[WatchBatch] = []
            while watch.progress < 7:
                batch = await watch.next(timeout_s=5)
                assert batch is not None
                batches.append(batch)
            for batch in batches:
                counts = [[event.revision for event in batch.events].count(Revision(r)) for r in range(2, 8)]
                assert set(counts) <= {0, 7}
            told_keys = [event.kv.key for batch in batches for event in batch.events]
            assert told_keys == [b"%d" % key for _ in range(6) for key in range(7)]


async def test_a_start_in_the_future_is_silent_until_it_is_reached(store: Store) -> None:
    async with store.watch(ALL, start=Revision(4)) as watch:
        for key in (b"a", b"b"):
            await store.create(key, b"")
        assert await watch.next(timeout_s=0) is None
        await store.create(b"c", b"")
        batch = await watch.next()
        assert batch is not None and told(list(batch.events)) == [("put", b"c", 4)]


async def test_progress_follows_an_idle_watch_but_never_passes_what_waits(store: Store) -> None:
    async with store.watch(A) as watch:
        await store.put(b"/b/1", b"")
        assert watch.progress == 2
        await store.put(b"/a/1", b"")
        await store.put(b"/b/1", b"")
        assert watch.progress == 2
        batch = await watch.next()
        assert batch is not None and batch.progress == watch.progress == 4


async def test_a_watch_resumes_after_a_restart_with_what_was_before(durable_url: str) -> None:
    async with checked_store(durable_url) as store:
        await store.put(b"a", b"1")
        await store.put(b"a", b"2")
        await store.delete(b"a")
    async with checked_store(durable_url) as store, store.watch(ALL, start=Revision(3)) as watch:
        update, delete = await events_upto(watch, Revision(4))
        assert update.previous is not None and update.previous.value == b"1"
        assert delete.previous is not None and delete.previous.value == b"2"


async def test_a_watch_sees_what_another_process_writes(two_stores: tuple[Store, Store]) -> None:
    one, other = two_stores
    async with one.watch(ALL) as watch:
        written = await other.create(b"a", b"1")
        [event] = await events_upto(watch, written.mod_revision)
        assert event == Event(EventType.PUT, written, None)


async def test_a_closed_watch_ends_its_iteration(store: Store) -> None:
    watch = store.watch(ALL)
    reading = asyncio.ensure_future(anext(watch, None))
    await asyncio.sleep(0)
    await watch.aclose()
    await watch.aclose()
    assert await reading is None
    assert store.metrics.watchers == 0


async def test_closing_the_store_ends_watches_after_what_they_had(durable_url: str) -> None:
    async with checked_store(durable_url) as store:
        watch = store.watch(ALL)
        await store.create(b"a", b"")
    batch = await watch.next()
    assert batch is not None and len(batch.events) == 1
    for _ in range(2):
        with pytest.raises(StoreClosed):
            await watch.next()
