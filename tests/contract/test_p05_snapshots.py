"""P5: a read is of exactly one revision, and sees every write acknowledged before it."""

import asyncio
from dataclasses import replace

import pytest

from kinepy import KeyRange, KeyValue, Revision, Store
from kinepy.errors import RevisionInFuture
from tests.contract.conftest import OpenStore
from tests.contract.stores import ALL, FAST, checked_store

MEMORY_BOUNDS = {
    "memory for all": FAST,
    "no ring": replace(FAST, ring_bytes_max=0),
    "few values": replace(FAST, cache_bytes_max=1500),
    "no index": replace(FAST, index_bytes_max=0, ring_bytes_max=0),
    "short pages": replace(FAST, ring_bytes_max=0, cache_bytes_max=0, page_rows_max=3),
}


async def write_history(store: Store) -> dict[int, list[tuple[bytes, bytes]]]:
    """Writes and deletes; returns what every revision held."""
    held: dict[bytes, bytes] = {}
    states = {1: list[tuple[bytes, bytes]]()}
    for n in range(40):
        key = b"k%d" % (n * 7 % 10)
        if n % 3 == 2 and key in held:
            await store.delete(key)
            del held[key]
        else:
            held[key] = b"%d" % n
            await store.put(key, held[key])
        states[store.applied_revision] = sorted(held.items())
    return states


def pairs(items: object) -> list[tuple[bytes, bytes]]:
    """Keys and values."""
    assert isinstance(items, list)
    return [(kv.key, kv.value) for kv in items]


@pytest.mark.parametrize("bounds", MEMORY_BOUNDS)
async def test_a_read_at_a_revision_is_the_state_at_it(open_with: OpenStore, bounds: str) -> None:
    async with open_with(MEMORY_BOUNDS[bounds]) as store:
        for revision, state in (await write_history(store)).items():
            at = Revision(revision)
            found = await store.range(ALL, at=at)
            assert (found.revision, pairs(found.items), found.total) == (revision, state, len(state))
            assert (await store.count(ALL, at=at)).count == len(state)


@pytest.mark.parametrize("bounds", MEMORY_BOUNDS)
async def test_pages_at_one_revision_are_the_whole(open_with: OpenStore, bounds: str) -> None:
    async with open_with(MEMORY_BOUNDS[bounds]) as store:
        states = await write_history(store)
        for at, state in list(states.items())[10::7]:
            rest, items, more = ALL, list[KeyValue](), True
            while more:
                page = await store.range(rest, at=Revision(at), limit=2)
                assert page.total == len(state) - len(items)
                items, more = [*items, *page.items], page.more
                rest = rest.after(items[-1].key) if items else rest
            assert pairs(items) == state


@pytest.mark.parametrize("bounds", MEMORY_BOUNDS)
async def test_a_single_key_is_read_at_every_revision(open_with: OpenStore, bounds: str) -> None:
    async with open_with(MEMORY_BOUNDS[bounds]) as store:
        for at, state in (await write_history(store)).items():
            kv = await store.get(b"k1", at=Revision(at))
            assert (kv and kv.value) == dict(state).get(b"k1")
        assert (await store.get(b"k1")) == await store.get(b"k1", at=store.applied_revision)


async def test_keys_only_leaves_the_values_out(store: Store) -> None:
    created = await store.create(b"a", b"1")
    await store.create(b"b", b"1")
    for at in (None, Revision(2)):
        [kv, *_] = (await store.range(ALL, at=at, keys_only=True)).items
        assert kv == KeyValue(b"a", b"", created.create_revision, created.mod_revision, 1)


async def test_the_future_cannot_be_read(store: Store) -> None:
    with pytest.raises(RevisionInFuture) as future:
        await store.range(ALL, at=Revision(7))
    assert (future.value.requested, future.value.current) == (7, 1)


async def test_ranges_are_half_open_and_bytewise(store: Store) -> None:
    keys = [b"a", b"a\x00", b"a-", b"a/", b"b", b"\xff", b"\xff\xff"]
    for key in keys:
        await store.create(key, b"")
    for key_range in (
        KeyRange(b"a", b"b"),
        KeyRange.prefix(b"\xff"),
        KeyRange(b"a\x00", None),
        KeyRange(b"b", b"a"),
    ):
        wanted = [key for key in sorted(keys) if key in key_range]
        assert [kv.key for kv in (await store.range(key_range)).items] == wanted
        assert (await store.count(key_range, at=store.applied_revision)).count == len(wanted)


async def test_a_process_sees_what_another_has_acknowledged(two_stores: tuple[Store, Store]) -> None:
    one, other = two_stores
    for n in range(50):
        written = await one.put(b"a", b"%d" % n)
        assert await other.get(b"a") == written
        one, other = other, one


async def test_a_read_reports_the_revision_that_it_read(two_stores: tuple[Store, Store]) -> None:
    async def writer(store: Store) -> None:
        for n in range(30):
            await store.put(b"n", b"%d" % n)

    async with asyncio.TaskGroup() as group:
        group.create_task(writer(two_stores[0]))
        for _ in range(30):
            seen = await two_stores[1].range(ALL)
            again = await two_stores[0].range(ALL, at=seen.revision)
            assert seen.items == again.items


async def test_a_reopened_store_serves_old_snapshots(durable_url: str) -> None:
    async with checked_store(durable_url) as store:
        states = await write_history(store)
    async with checked_store(durable_url) as store:
        for at, state in states.items():
            assert pairs(list((await store.range(ALL, at=Revision(at))).items)) == state


async def test_records_keep_what_a_face_put_into_them(store: Store) -> None:
    written = await store.create(b"a", b"1")
    written.face = b"encoded"
    [listed] = (await store.range(ALL)).items
    assert listed is written and await store.get(b"a") is written


async def test_an_inconsistent_read_asks_nobody(store: Store) -> None:
    await store.create(b"a", b"1")
    assert (await store.range(ALL, consistent=False)).total == 1
    assert await store.wait_for(Revision(2), timeout_s=1) == 2


async def test_waiting_for_the_future_ends(store: Store) -> None:
    with pytest.raises(RevisionInFuture):
        await store.wait_for(Revision(9), timeout_s=0.01)


async def test_waiting_for_a_revision_that_another_process_writes(two_stores: tuple[Store, Store]) -> None:
    one, other = two_stores
    waiting = asyncio.ensure_future(one.wait_for(Revision(2), timeout_s=10))
    await other.put(b"a", b"")
    assert await waiting == 2
