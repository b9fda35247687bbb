"""P1: revisions rise by one per change and become visible in that order."""

import asyncio

from kinepy import DeleteRange, KeyRange, Put, Revision, Store, Txn
from kinepy.errors import KeyExists
from tests.contract.stores import ALL, events_upto


async def test_a_fresh_store_stands_at_one_and_the_first_write_is_two(store: Store) -> None:
    assert await store.current_revision() == 1
    assert (await store.create(b"a", b"1")).mod_revision == 2


async def test_every_change_takes_the_next_revision(store: Store) -> None:
    taken = [
        (await store.create(b"a", b"1")).mod_revision,
        (await store.update(b"a", b"2")).mod_revision,
        (await store.delete(b"a")).revision,
        (await store.put(b"a", b"3")).mod_revision,
        (
            await store.txn(Txn(then=[Put(key=b"b", value=b""), DeleteRange(range=KeyRange.single(b"a"))]))
        ).revision,
    ]
    assert taken == [2, 3, 4, 5, 6]


async def test_concurrent_writes_take_dense_revisions(store: Store) -> None:
    written = await asyncio.gather(*(store.create(b"%03d" % n, b"") for n in range(200)))
    assert sorted(kv.mod_revision for kv in written) == list(range(2, 202))


async def test_failed_writes_leave_no_hole(store: Store) -> None:
    outcomes = await asyncio.gather(*(store.create(b"one", b"") for _ in range(50)), return_exceptions=True)
    assert sum(isinstance(outcome, KeyExists) for outcome in outcomes) == 49
    assert await store.current_revision() == 2


async def test_a_transaction_that_writes_nothing_takes_no_revision(store: Store) -> None:
    await store.put(b"a", b"")
    assert (await store.txn(Txn(then=[DeleteRange(range=KeyRange.single(b"x"))]))).revision == 2
    assert await store.current_revision() == 2


async def test_every_snapshot_is_a_prefix_of_the_log(store: Store) -> None:
    async def reader() -> None:
        while store.applied_revision < 101:
            seen = await store.range(ALL)
            assert [kv.mod_revision for kv in seen.items] == list(range(2, seen.revision + 1))
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        group.create_task(reader())
        for n in range(100):
            await store.create(b"%03d" % n, b"")


async def test_two_processes_share_one_dense_order(two_stores: tuple[Store, Store]) -> None:
    one, other = two_stores
    writes = [s.create(b"%d-%d" % (i, n), b"") for n in range(50) for i, s in enumerate((one, other))]
    written = await asyncio.gather(*writes)
    assert sorted(kv.mod_revision for kv in written) == list(range(2, 102))


async def test_watches_of_two_processes_see_the_same_order(two_stores: tuple[Store, Store]) -> None:
    one, other = two_stores
    watches = [s.watch(ALL, start=Revision(2)) for s in two_stores]
    await asyncio.gather(*(s.put(b"k%d" % (n % 3), b"%d" % n) for n in range(60) for s in (one, other)))
    last = await one.current_revision()
    first, second = [await events_upto(watch, last) for watch in watches]
    assert first == second
    assert [event.revision for event in first] == list(range(2, last + 1))
