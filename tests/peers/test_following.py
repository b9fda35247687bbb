"""Watches and what they wait for: never for a clock, a full page or somebody else's transaction."""

import asyncio
import tracemalloc
from dataclasses import replace

import asyncpg
import pytest

from kinepy import EventType, KeyRange, Revision, Store, Watch
from tests.backends import CreatePostgres
from tests.contract.stores import ALL, FAST, checked_store, events_upto

PATIENCE_S = 10
NEVER_S = 3600.0
ASIDE = KeyRange.prefix(b"/aside/")
UNPOLLED = replace(FAST, poll_interval_s=NEVER_S, poll_interval_notified_s=NEVER_S)


async def progress_past(watch: Watch, revision: Revision) -> None:
    """Wait until a watch says that it is past a revision."""
    async with asyncio.timeout(PATIENCE_S):
        while watch.progress < revision:
            await watch.next(timeout_s=0.02)


async def test_progress_waits_for_no_look_at_the_database(shared_url: str) -> None:
    async with checked_store(shared_url, UNPOLLED) as store, store.watch(ASIDE) as watch:
        for n in range(3):
            await progress_past(watch, (await store.put(b"/other", b"%d" % n)).mod_revision)


async def test_a_watch_is_told_of_progress_after_its_events_too(two_stores: tuple[Store, Store]) -> None:
    writer, reader = two_stores
    async with reader.watch(ASIDE) as watch:
        for n in range(3):
            made = await writer.put(b"/aside/a", b"%d" % n)
            assert [event.kv for event in await events_upto(watch, made.mod_revision)] == [made]
            await progress_past(watch, (await writer.put(b"/other", b"")).mod_revision)


async def test_a_burst_of_many_pages_is_followed_at_one_go(shared_url: str) -> None:
    # Every further page would come with a look at the database, of which there is one a second.
    slow = replace(FAST, page_rows_max=10, poll_interval_s=1.0, poll_interval_notified_s=1.0)
    async with (
        checked_store(shared_url, slow) as reader,
        checked_store(shared_url) as writer,
        reader.watch(ALL) as watch,
    ):
        await asyncio.gather(*(writer.put(b"/k/%d" % n, b"") for n in range(300)))
        async with asyncio.timeout(PATIENCE_S):
            assert len(await events_upto(watch, Revision(301))) == 300


async def test_the_end_of_a_key_with_its_lease_is_told_like_a_delete(two_stores: tuple[Store, Store]) -> None:
    writer, reader = two_stores
    lease = await writer.grant_lease(1)
    await writer.put(b"k", b"1", lease=lease.id)
    held = await writer.put(b"k", b"2", lease=lease.id)
    async with reader.watch(ALL, start=Revision(4)) as watch:
        (end,) = await events_upto(watch, Revision(4))
    assert (end.type, end.kv.key, end.revision, end.previous) == (EventType.DELETE, b"k", 4, held)
    assert end.previous is not None
    assert (end.previous.create_revision, end.previous.version, end.previous.lease) == (2, 2, lease.id)


async def test_a_long_transaction_elsewhere_on_the_server_holds_up_nothing(
    create_postgres: CreatePostgres,
) -> None:
    url, elsewhere = create_postgres(True), create_postgres(False)
    connection = await asyncpg.connect(elsewhere)
    await connection.execute("CREATE TABLE t (n integer)")
    async with connection.transaction():
        await connection.execute("INSERT INTO t VALUES (1)")
        async with checked_store(url) as writer, checked_store(url) as reader, reader.watch(ALL) as watch:
            made = [await writer.put(b"k", b"%d" % n) for n in range(20)]
            assert [event.kv for event in await events_upto(watch, made[-1].mod_revision)] == made
            await writer.compact()
    await connection.close()


@pytest.mark.parametrize("size", [50_000, 1_000_000])
async def test_a_watch_takes_a_long_history_page_by_page(shared_url: str, size: int) -> None:
    forgetful = replace(FAST, ring_bytes_max=0, cache_bytes_max=1)
    count = 40_000_000 // size
    async with checked_store(shared_url, forgetful) as store:
        for n in range(count):
            await store.put(b"/k/%d" % (n % 10), bytes(size))
        tracemalloc.start()
        try:
            async with store.watch(ALL, start=Revision(2)) as watch, asyncio.timeout(PATIENCE_S):
                told = 0
                while told < count:
                    batch = await watch.next(timeout_s=0.05)
                    told += len(batch.events) if batch is not None else 0
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    # Of 80 MB, with what was before each change; the first page is the largest, since nothing is known yet.
    print(f"{peak=}")
    assert peak < 40_000_000
