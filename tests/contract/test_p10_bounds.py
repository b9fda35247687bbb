"""P10: every bound is a setting, and reaching it is something the caller sees."""

import asyncio
from dataclasses import replace

import pytest

from kinepy import KeyRange, KeyValue, Put, Revision, Store, Txn
from kinepy.errors import Overloaded, RevisionInFuture, StoreClosed, WatchOverflow
from kinepy.store.cache import INDEX_KEY_BYTES
from tests.contract.conftest import OpenStore
from tests.contract.stores import ALL, FAST, events_upto


async def test_a_full_write_queue_refuses(open_with: OpenStore) -> None:
    async with open_with(replace(FAST, write_queue_max=5)) as store:
        writes = (store.create(b"%d" % n, b"") for n in range(8))
        outcomes = await asyncio.gather(*writes, return_exceptions=True)
        assert sum(isinstance(outcome, KeyValue) for outcome in outcomes) == 5
        assert sum(isinstance(outcome, Overloaded) for outcome in outcomes) == 3


@pytest.mark.parametrize("bound", [{"watch_queue_events_max": 10}, {"watch_queue_bytes_max": 3000}])
async def test_a_slow_watcher_ends_and_resumes_without_a_gap(
    open_with: OpenStore, bound: dict[str, int]
) -> None:
    async with open_with(replace(FAST, **bound)) as store:  # type: ignore[arg-type]  # all are integers
        slow, other = store.watch(ALL), store.watch(KeyRange.single(b"007"))
        await store.create(b"first", b"")
        batch = await slow.next()
        assert batch is not None
        for n in range(30):
            await store.create(b"%03d" % n, b"")
        with pytest.raises(WatchOverflow) as overflow:
            await slow.next()
        assert overflow.value.resume == batch.progress + 1
        rest = await events_upto(store.watch(ALL, start=overflow.value.resume), Revision(32))
        assert [event.revision for event in rest] == list(range(3, 33))
        assert len(await events_upto(other, Revision(32))) == 1
        assert store.metrics.watchers_overflowed == 1


async def test_one_large_revision_always_fits(open_with: OpenStore) -> None:
    async with open_with(replace(FAST, watch_queue_events_max=3)) as store:
        watch = store.watch(ALL)
        await store.txn(Txn(then=[Put(key=b"%d" % n, value=b"") for n in range(9)]))
        assert len(await events_upto(watch, Revision(2))) == 9


async def test_watchers_are_counted(open_with: OpenStore) -> None:
    async with open_with(replace(FAST, watchers_max=2)) as store:
        first, _ = store.watch(ALL), store.watch(ALL)
        with pytest.raises(Overloaded):
            store.watch(ALL)
        await first.aclose()
        store.watch(ALL)


async def test_a_batch_is_bounded_by_bytes(open_with: OpenStore) -> None:
    async with open_with(replace(FAST, batch_bytes_max=4000)) as store:
        await asyncio.gather(*(store.create(b"%d" % n, bytes(1500)) for n in range(9)))
        assert store.metrics.batches >= 4 and store.metrics.writes == 9


async def test_a_batch_is_bounded_by_writes(open_with: OpenStore) -> None:
    async with open_with(replace(FAST, batch_writes_max=3)) as store:
        await asyncio.gather(*(store.create(b"%d" % n, b"") for n in range(9)))
        assert store.metrics.batches >= 3


async def test_memory_keeps_its_bound(open_with: OpenStore) -> None:
    async with open_with(replace(FAST, cache_bytes_max=20_000, ring_bytes_max=20_000)) as store:
        for n in range(50):
            await store.create(b"%03d" % n, bytes(1000))
        await store.range(ALL)
        assert store._state.cache.value_bytes <= 20_000
        assert store._state.ring.size_bytes <= 20_000


async def test_ten_thousand_idle_watches_are_cheap(store: Store) -> None:
    watches = [store.watch(KeyRange.prefix(b"/%d/" % (n % 100))) for n in range(10_000)]
    await store.create(b"/7/a", b"")
    waiting = [
        watch for watch in watches if watch._subscription is not None and watch._subscription.is_pending
    ]
    assert len(waiting) == 100
    for watch in watches:
        await watch.aclose()
    assert store.metrics.watchers == 0


async def test_nothing_is_left_of_waits_that_were_given_up(store: Store) -> None:
    for _ in range(20):
        with pytest.raises(RevisionInFuture):
            await store.wait_for(Revision(10**9), timeout_s=0.001)
    assert not store._tail._waiters


async def test_whoever_only_reads_leaves_writers_a_turn(store: Store) -> None:
    writing = asyncio.ensure_future(store.create(b"a", b""))
    for _ in range(100_000):
        if writing.done():
            break
        await store.get(b"a")
    assert writing.done()


async def test_a_closed_store_answers_nothing(open_with: OpenStore) -> None:
    async with open_with(FAST) as store:
        await store.create(b"a", b"")
    for asked in (store.current_revision(), store.get(b"a"), store.count(ALL), store.range(ALL)):
        with pytest.raises(StoreClosed):
            await asked


def is_indexed(store: Store) -> bool:
    return store._state.cache.complete


async def test_more_keys_than_memory_may_hold_are_served_by_the_database(open_with: OpenStore) -> None:
    async with open_with(replace(FAST, index_bytes_max=10 * INDEX_KEY_BYTES)) as store:
        made = [await store.create(b"%02d" % n, b"%d" % n) for n in range(20)]
        assert not is_indexed(store)
        assert await store.get(b"07") == made[7]
        assert (await store.range(ALL, limit=3)).total == (await store.count(ALL)).count == 20
        assert (await store.range(ALL, at=made[4].mod_revision)).items == made[:5]
        changed = await store.update(b"07", b"x", expect=made[7].mod_revision)
        assert (changed.version, changed.create_revision) == (2, made[7].mod_revision)


async def test_the_index_comes_back_when_the_keys_fit_again(open_with: OpenStore) -> None:
    async with open_with(replace(FAST, index_bytes_max=10 * INDEX_KEY_BYTES)) as store:
        for n in range(12):
            await store.create(b"%02d" % n, b"")
        await store._tail.complete_index()
        assert not is_indexed(store)
        watch = store.watch(ALL)
        for n in range(6):
            await store.delete(b"%02d" % n)
        rebuilding = asyncio.ensure_future(store._tail.complete_index())
        for n in range(20, 23):
            await store.create(b"%02d" % n, b"")
        await store.delete(b"06")
        await rebuilding
        assert is_indexed(store)
        revision = await store.current_revision()
        assert [event.revision for event in await events_upto(watch, revision)] == list(range(14, 24))
        keys = [b"07", b"08", b"09", b"10", b"11", b"20", b"21", b"22"]
        assert list(store._state.cache.keys) == [item.key for item in (await store.range(ALL)).items] == keys
