"""A database that does not answer: callers are told in time, and told the truth."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from kinepy import KeyValue, Store, open_store
from kinepy.clock import SystemClock
from kinepy.drivers import open_driver
from kinepy.errors import Overloaded, StorageUnavailable, StoreClosed, WriteOutcomeUnknown
from tests.contract.conftest import OpenStore
from tests.contract.stores import ALL, FAST

HASTY = replace(FAST, write_timeout_s=0.3)


@asynccontextmanager
async def held(url: str) -> AsyncIterator[None]:
    """Somebody holds the order lock."""
    driver = await open_driver(url, FAST, SystemClock())
    try:
        async with driver.write():
            yield
    finally:
        await driver.close()


async def test_nobody_waits_longer_than_allowed(durable_url: str) -> None:
    async with open_store(durable_url, HASTY) as store:
        await store.create(b"a", b"")
        async with held(durable_url):
            running = asyncio.ensure_future(store.create(b"b", b""))
            for _ in range(10):
                await asyncio.sleep(0)
            assert store._committer._running
            waiting = asyncio.ensure_future(store.create(b"c", b""))
            async with asyncio.timeout(5):
                for refused in (waiting, running):
                    with pytest.raises(StorageUnavailable):
                        await refused
        # What was told not to have been done is not done later either.
        assert (await store.put(b"d", b"")).mod_revision == 3
        assert [item.key for item in (await store.range(ALL)).items] == [b"a", b"d"]


async def test_a_queue_is_bounded_by_bytes(open_with: OpenStore) -> None:
    async with open_with(replace(FAST, write_queue_bytes_max=10_000)) as store:
        writes = (store.create(b"%d" % n, bytes(4000)) for n in range(4))
        outcomes = await asyncio.gather(*writes, return_exceptions=True)
        assert sum(isinstance(outcome, KeyValue) for outcome in outcomes) == 2
        assert sum(isinstance(outcome, Overloaded) for outcome in outcomes) == 2
        assert isinstance(await store.create(b"large", bytes(20_000)), KeyValue)


async def test_a_store_that_fails_after_a_commit_leaves_nobody_waiting(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(store._hub, "publish", fails)
    async with asyncio.timeout(5):
        with pytest.raises(WriteOutcomeUnknown):
            await store.create(b"a", b"")


class HangingDisk:
    """Lets the statements of a SQLite connection that begin so hang in its thread, as on a disk that does."""

    def __init__(self, raw: sqlite3.Connection, statement: str) -> None:
        self.hangs, self.let_go = threading.Event(), threading.Event()
        self._statement = statement
        raw.set_trace_callback(self._hang)

    def _hang(self, statement: str) -> None:
        if statement.startswith(self._statement):
            self.hangs.set()
            self.let_go.wait()


@pytest.mark.parametrize(
    ("statement", "error"), [("COMMIT", WriteOutcomeUnknown), ("BEGIN", StorageUnavailable)]
)
async def test_a_store_closes_over_a_disk_that_hangs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, statement: str, error: type[Exception]
) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    async with asyncio.timeout(20):
        async with open_store(url, replace(FAST, lock_timeout_s=0.3)) as store:
            writer = store._driver._writer.raw  # type: ignore[attr-defined]  # of SQLite's driver
            disk = HangingDisk(writer, statement)
            lost = asyncio.ensure_future(store.create(b"a", b""))
            assert await asyncio.to_thread(disk.hangs.wait, 10)
            queued = asyncio.ensure_future(store.create(b"b", b""))
            await asyncio.sleep(0)
    with pytest.raises(error):
        await lost
    with pytest.raises(StoreClosed):
        await queued
    assert all(task.done() for task in store._jobs.tasks)
    assert "does not answer" in caplog.text
    disk.let_go.set()
    async with open_store(url, FAST) as store:
        assert await store.get(b"b") is None
        # The disk did it all the same, where it was asked to.
        await store.put(b"c", b"")
        assert (await store.get(b"a") is not None) == (statement == "COMMIT")
