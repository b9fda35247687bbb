"""What goes on beside the writes: compaction after failures, connections, logs."""

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

import asyncpg
import pytest

from kinepy import KeyRange, Revision, Store
from kinepy.errors import Compacted, KinepyError
from tests.backends import CreatePostgres
from tests.contract.stores import FAST, checked_store

PATIENCE_S = 20
EAGER = replace(FAST, compaction_interval_s=0.02, compaction_keep_s=0.01, compaction_keep_changes=1)


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110 nothing tells when
            await asyncio.sleep(0.01)


async def test_compaction_goes_on_after_it_has_failed(shared_url: str) -> None:
    async with checked_store(shared_url, EAGER) as store:
        await change(shared_url, "ALTER TABLE floor RENAME TO floor_away")
        await until(lambda: store.metrics.storage_errors.get("compaction", 0) >= 3)
        await change(shared_url, "ALTER TABLE floor_away RENAME TO floor")
        for n in range(10):
            last = await store.put(b"k", b"%d" % n)
        await until(lambda: store.compact_revision > 8)
        assert await store.get(b"k") == last


async def test_a_quiet_store_is_compacted_too(shared_url: str) -> None:
    # By age alone, and no more than a handful of changes.
    by_age = replace(FAST, compaction_interval_s=0.02, retention=("0.05s",))
    async with checked_store(shared_url, by_age) as store:
        first = await store.put(b"k", b"first")
        for value in (b"second", b"third"):
            await store.put(b"k", value)
        await until(lambda: store.compact_revision > first.mod_revision)
        with pytest.raises(Compacted):
            await store.get(b"k", at=first.mod_revision)


async def change(url: str, statement: str) -> None:
    """Do something to the tables behind the back of who uses them."""
    if url.startswith("sqlite:///"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as raw:
            raw.execute(statement)
            raw.commit()
        return
    connection = await asyncpg.connect(url)
    await connection.execute(statement)
    await connection.close()


async def test_who_loses_a_race_is_told_and_not_the_log(
    two_stores: tuple[Store, Store], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    one, other = two_stores
    for n in range(10):
        outcomes = await asyncio.gather(
            *(store.create(b"/k/%d" % n, b"") for store in two_stores * 4), return_exceptions=True
        )
        assert sum(isinstance(outcome, KinepyError) for outcome in outcomes) == 7
    seen = await one.get(b"/k/0")
    assert seen is not None
    await asyncio.gather(
        *(store.update(b"/k/0", b"x", expect=seen.mod_revision) for store in (one, other)),
        return_exceptions=True,
    )
    assert caplog.records == []


async def test_connections_are_bounded_whatever_is_asked(create_postgres: CreatePostgres) -> None:
    url = create_postgres(True)
    settings = replace(FAST, ring_bytes_max=0, cache_bytes_max=1)
    count = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    counting = await asyncpg.connect(url)
    lock = asyncio.Lock()
    async with checked_store(url, settings) as store:
        for n in range(20):
            await store.put(b"/k/%d" % n, b"")

        async def ask() -> None:
            for n in range(20):
                await asyncio.gather(
                    store.range(KeyRange.prefix(b"/k/"), at=Revision(2 + n)), store.put(b"w", b"")
                )
                async with lock:
                    found.append(await counting.fetchval(count))

        found: list[int] = []
        await asyncio.gather(*(ask() for _ in range(50)))
        # One to write, one to listen, one to compact, and those to read.
        assert max(found) <= settings.read_connections_max + 4
    await counting.close()
