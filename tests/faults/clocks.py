"""What tests of clocks that are set have in common."""

import asyncio
import sqlite3
from contextlib import closing

import asyncpg

from kinepy import EventType, KeyRange, Revision, Settings, Watch, open_store
from kinepy.clock import SystemClock

HOUR_S = 3600
FAST = Settings(lease_check_interval_s=0.05, poll_interval_s=0.005, poll_interval_notified_s=0.2)


class SetClock(SystemClock):
    """The machine's clock, wrong by as much as is set."""

    wrong_by_s = 0

    def now_us(self) -> int:
        return super().now_us() + self.wrong_by_s * 1_000_000


async def run_sql(url: str, statement: str) -> list[tuple[int, ...]]:
    """One statement, past the library."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as raw:
            return list(raw.execute(statement).fetchall())
    connection = await asyncpg.connect(url)
    try:
        return [tuple(row) for row in await connection.fetch(statement)]
    finally:
        await connection.close()


async def is_deleted(watch: Watch, *, within_s: float) -> None:
    """The next event is the only key's end, and comes in time."""
    async with asyncio.timeout(within_s):
        while True:
            batch = await watch.next()
            if batch is not None and batch.events:
                break
    assert [event.type for event in batch.events] == [EventType.DELETE]


async def ends_once(url: str, clock: SetClock, *, ttl_s: int) -> None:
    """A lease lives as long as it should, and its key is deleted once."""
    async with open_store(url, FAST, clock=clock) as one, open_store(url, FAST, clock=clock) as other:
        lease = await one.grant_lease(ttl_s)
        made = await one.put(b"leased", b"", lease=lease.id)
        start = Revision(made.mod_revision + 1)
        async with other.watch(KeyRange.prefix(b"leased"), start=start) as watch:
            await asyncio.sleep(ttl_s / 2)
            assert await other.get(b"leased") is not None, "it ended early"
            await is_deleted(watch, within_s=ttl_s + 5)
        rows = await run_sql(url, "SELECT count(*) FROM log WHERE value IS NULL")
        assert rows == [(1,)]
