"""P7: compaction takes only what no read at or after its revision can see."""

import asyncio
from dataclasses import replace

import pytest

from kinepy import EventType, Put, Revision, Store, Txn
from kinepy.errors import Compacted, RevisionInFuture
from tests.contract.conftest import OpenStore
from tests.contract.stores import ALL, FAST, checked_store, events_upto

NO_RING = replace(FAST, ring_bytes_max=0)


async def rewrite(store: Store, times: int) -> None:
    """Versions of one key; revision r holds value r."""
    for n in range(times):
        await store.put(b"a", b"%d" % (n + 2))


@pytest.mark.parametrize("settings", [FAST, NO_RING], ids=["ring", "sql"])
async def test_reads_at_the_floor_work_and_below_it_do_not(open_with: OpenStore, settings: object) -> None:
    async with open_with(settings) as store:  # type: ignore[arg-type]  # parametrize loses the type
        await rewrite(store, 9)
        assert await store.compact(Revision(6)) == 6
        for at in range(6, 11):
            kv = await store.get(b"a", at=Revision(at))
            assert kv is not None and kv.value == b"%d" % at
        for read in (
            store.get(b"a", at=Revision(5)),
            store.range(ALL, at=Revision(5)),
            store.count(ALL, at=Revision(5)),
        ):
            with pytest.raises(Compacted) as compacted:
                await read
            assert (compacted.value.requested, compacted.value.compacted) == (5, 6)


@pytest.mark.parametrize("settings", [FAST, NO_RING], ids=["ring", "sql"])
async def test_a_watch_from_the_floor_tells_its_event_with_what_was_before(
    open_with: OpenStore, settings: object
) -> None:
    async with open_with(settings) as store:  # type: ignore[arg-type]  # parametrize loses the type
        await store.put(b"a", b"1")
        before = await store.put(b"a", b"2")
        await store.delete(b"a")
        await store.put(b"b", b"")
        await store.compact(Revision(4))
        async with store.watch(ALL, start=Revision(4)) as watch:
            delete, _ = await events_upto(watch, Revision(5))
        assert (delete.type, delete.previous) == (EventType.DELETE, before)
        with pytest.raises(Compacted):
            await store.watch(ALL, start=Revision(3)).next()


async def test_what_a_floor_spared_goes_with_the_next(open_with: OpenStore) -> None:
    async with open_with(NO_RING) as store:
        await rewrite(store, 9)
        await store.put(b"b", b"")
        await store.delete(b"b")
        for to in (3, 5, 6, 12):
            await store.compact(Revision(to))
        assert (await store.status()).log_rows == 3
        await store.put(b"c", b"")
        await store.compact()
        assert (await store.status()).log_rows == 2


async def test_live_keys_and_the_newest_row_survive(durable_url: str) -> None:
    async with checked_store(durable_url, NO_RING) as store:
        kept = await store.create(b"kept", b"1")
        await store.create(b"gone", b"1")
        await store.delete(b"gone")
        await store.compact()
    async with checked_store(durable_url, NO_RING) as store:
        assert list((await store.range(ALL)).items) == [kept]
        assert await store.current_revision() == store.compact_revision == 4


async def test_the_future_and_the_past_cannot_be_compacted(store: Store) -> None:
    await rewrite(store, 3)
    await store.compact(Revision(3))
    assert await store.compact(Revision(3)) == 3
    with pytest.raises(RevisionInFuture):
        await store.compact(Revision(5))
    with pytest.raises(Compacted):
        await store.compact(Revision(2))


async def test_an_open_watch_goes_on_over_a_compaction(store: Store) -> None:
    async with store.watch(ALL) as watch:
        await rewrite(store, 5)
        await store.compact()
        await rewrite(store, 1)
        assert [event.revision for event in await events_upto(watch, Revision(7))] == [2, 3, 4, 5, 6, 7]


async def test_a_value_that_memory_let_go_is_read_over_a_compaction(open_with: OpenStore) -> None:
    async with open_with(replace(NO_RING, cache_bytes_max=0)) as store, asyncio.TaskGroup() as group:
        group.create_task(rewrite(store, 40))
        while store.applied_revision < 41:
            await store.compact()
            kv = await store.get(b"a")
            assert kv is None or kv.value == b"%d" % kv.mod_revision
            await asyncio.sleep(0)


async def test_rows_of_one_transaction_are_compacted_one_by_one(open_with: OpenStore) -> None:
    async with open_with(NO_RING) as store:
        for n in range(3):
            await store.txn(Txn(then=[Put(key=b"%d" % key, value=b"%d" % n) for key in range(5)]))
        await store.put(b"0", b"new")
        await store.compact()
        assert [kv.value for kv in (await store.range(ALL)).items] == [b"new", b"2", b"2", b"2", b"2"]
        assert (await store.status()).log_rows == 6


async def test_another_process_notices_the_floor(two_stores: tuple[Store, Store]) -> None:
    one, other = two_stores
    await rewrite(one, 5)
    assert (await other.get(b"a")) is not None
    await one.compact(Revision(5))
    async with asyncio.timeout(10):
        while other.compact_revision < 5:
            await other.watch(ALL).next(timeout_s=0.05)
    with pytest.raises(Compacted):
        await other.get(b"a", at=Revision(4))


async def test_retention_keeps_what_is_young_and_what_is_recent(open_with: OpenStore) -> None:
    settings = replace(FAST, compaction_keep_s=0.0, compaction_keep_changes=3, compaction_interval_s=0.02)
    async with open_with(settings) as store:
        await rewrite(store, 10)
        async with asyncio.timeout(10):
            while store.compact_revision < 8:
                await store.watch(ALL).next(timeout_s=0.02)
        assert store.compact_revision == 8
