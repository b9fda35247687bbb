"""The clock is set back: time in the log never runs backwards, leases end neither early nor twice."""

import asyncio
from pathlib import Path

import pytest

from kinepy import KeyRange, open_store
from tests.faults.clocks import FAST, HOUR_S, SetClock, ends_once, is_deleted, run_sql
from tests.faults.databases import Database


@pytest.fixture
def url(database: Database, tmp_path: Path) -> str:
    return database.url or f"sqlite:///{tmp_path / 'a.db'}"


async def set_back(url: str) -> None:
    """Make the log end an hour from now, as if the clock had been an hour ahead and was set right."""
    ahead = f"committed_at = committed_at + {HOUR_S}000000"
    await run_sql(url, f"UPDATE log SET {ahead} WHERE revision = (SELECT max(revision) FROM log)")


async def test_time_in_the_log_never_runs_backwards(url: str) -> None:
    for _ in range(2):
        async with open_store(url, FAST) as store:
            for number in range(3):
                await store.put(b"%d" % number, b"")
                await set_back(url)
    times = [row[0] for row in await run_sql(url, "SELECT committed_at FROM log ORDER BY revision, sub")]
    assert times == sorted(times)


async def test_a_lease_of_after_ends_in_time_and_once(url: str) -> None:
    async with open_store(url, FAST) as store:
        await store.put(b"a", b"")
    await set_back(url)
    await ends_once(url, SetClock(), ttl_s=2)


async def test_a_lease_of_before_does_not_end_early(tmp_path: Path) -> None:
    """A process whose clock is set back while it runs, on SQLite, where time is the process' own."""
    url, clock = f"sqlite:///{tmp_path / 'a.db'}", SetClock()
    async with open_store(url, FAST, clock=clock) as store:
        lease = await store.grant_lease(2)
        await store.put(b"leased", b"", lease=lease.id)
        clock.wrong_by_s = -HOUR_S
        await asyncio.sleep(1)
        assert await store.get(b"leased") is not None
        clock.wrong_by_s = 0
        async with store.watch(KeyRange.prefix(b"leased")) as watch:
            await is_deleted(watch, within_s=10)
        assert await run_sql(url, "SELECT count(*) FROM log WHERE value IS NULL") == [(1,)]


async def test_what_was_granted_while_the_clock_was_back_ends_in_time(tmp_path: Path) -> None:
    url, clock = f"sqlite:///{tmp_path / 'a.db'}", SetClock()
    async with open_store(url, FAST, clock=clock) as store:
        await store.put(b"a", b"")
    clock.wrong_by_s = -HOUR_S
    await ends_once(url, clock, ttl_s=2)
