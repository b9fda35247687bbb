"""The clock of the PostgreSQL server is set, ahead and back, while two stores work on it.

The store asks for `clock_timestamp()`; here a function of that name stands in its way, which is wrong by what a table
says.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from kinepy import KeyRange, Revision, Store, open_store
from tests.faults.clocks import FAST, HOUR_S, SetClock, ends_once, is_deleted, run_sql
from tests.postgres_server import PostgresServer

SECOND_US = 1_000_000
DAY_S = 24 * HOUR_S
WRONG_CLOCK = (
    "CREATE TABLE public.clock (wrong_by interval NOT NULL)",
    "INSERT INTO public.clock VALUES ('0')",
    "CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE"
    " AS 'SELECT pg_catalog.clock_timestamp() + wrong_by FROM public.clock'",
    "DO $$ BEGIN EXECUTE"
    " format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database()); END $$",
)


@pytest.fixture
async def url(own_postgres: PostgresServer) -> str:
    """A database on a server whose clock can be set."""
    url = own_postgres.create_database()
    for statement in WRONG_CLOCK:
        await run_sql(url, statement)
    return url


async def set_clock(url: str, seconds: int) -> None:
    """From now on the server's clock is wrong by so much."""
    await run_sql(url, f"UPDATE clock SET wrong_by = '{seconds} s'")


@asynccontextmanager
async def two_stores(url: str) -> AsyncIterator[tuple[Store, Store]]:
    async with open_store(url, FAST) as one, open_store(url, FAST) as other:
        yield one, other


async def deletions(url: str) -> int:
    """How often anything was deleted."""
    return (await run_sql(url, "SELECT count(*) FROM log WHERE value IS NULL"))[0][0]


async def test_time_in_the_log_never_runs_backwards_and_the_epoch_stays(url: str) -> None:
    begun_us = SetClock().now_us()
    async with two_stores(url) as stores:
        for wrong_by in (0, -HOUR_S, 2 * HOUR_S, -DAY_S, 0):
            await set_clock(url, wrong_by)
            for store in stores:
                await store.put(b"a", b"")
        status = await stores[0].status()
    times = [row[0] for row in await run_sql(url, "SELECT committed_at FROM log ORDER BY revision, sub")]
    assert times == sorted(times)
    assert times[-1] - begun_us > HOUR_S * SECOND_US, "the store goes by another clock"
    assert (status.epoch, status.current_revision, len(times)) == (1, 11, 10)


async def test_a_lease_of_before_does_not_end_early_when_the_clock_is_set_back(url: str) -> None:
    async with two_stores(url) as (one, other):
        lease = await one.grant_lease(2)
        await one.put(b"leased", b"", lease=lease.id)
        await set_clock(url, -HOUR_S)
        await asyncio.sleep(2.5)
        assert await other.get(b"leased") is not None
        async with other.watch(KeyRange.prefix(b"leased")) as watch:
            await set_clock(url, 0)
            await is_deleted(watch, within_s=10)
        assert await deletions(url) == 1


@pytest.mark.parametrize("wrong_by", [-HOUR_S, HOUR_S])
async def test_a_lease_of_after_ends_in_time_and_once(url: str, wrong_by: int) -> None:
    async with open_store(url, FAST) as store:
        await store.put(b"a", b"")
    await set_clock(url, wrong_by)
    await ends_once(url, SetClock(), ttl_s=2)


async def test_a_clock_that_is_set_ahead_ends_no_lease_early_and_each_once(url: str) -> None:
    async with two_stores(url) as (one, other):
        short, long = await one.grant_lease(3), await one.grant_lease(2 * HOUR_S)
        await one.put(b"short", b"", lease=short.id)
        made = await one.put(b"long", b"", lease=long.id)
        async with other.watch(KeyRange.prefix(b"short"), start=made.mod_revision) as watch:
            await set_clock(url, HOUR_S)
            await asyncio.sleep(1.5)
            assert await other.get(b"short") is not None, "it ended early"
            await is_deleted(watch, within_s=10)
        await set_clock(url, 0)
        assert await other.get(b"long") is not None
        assert await deletions(url) == 1


async def fill(store: Store, count: int) -> Revision:
    """Write one key again and again; returns the first revision."""
    first = await store.put(b"a", b"")
    for number in range(1, count):
        await store.put(b"a", b"%d" % number)
    return first.mod_revision


async def test_history_of_before_a_clock_that_was_set_back_is_young(url: str) -> None:
    async with open_store(url, replace(FAST, compaction_keep_s=60.0, compaction_keep_changes=0)) as store:
        first = await fill(store, 20)
        await set_clock(url, -HOUR_S)
        await fill(store, 20)
        await store._compactor.apply_retention()
        assert (await store.get(b"a", at=first)) is not None


async def test_a_clock_that_is_wrong_for_a_day_takes_no_more_than_the_number_of_changes_allows(
    url: str,
) -> None:
    async with open_store(url, replace(FAST, compaction_keep_s=60.0, compaction_keep_changes=30)) as store:
        first = await fill(store, 20)
        await set_clock(url, DAY_S)
        await store._compactor.apply_retention()
        assert (await store.get(b"a", at=first)) is not None
        await set_clock(url, 0)
        await fill(store, 40)
        await store._compactor.apply_retention()
        assert store.compact_revision == 1
