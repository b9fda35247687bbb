"""A database that does not answer: callers are told in time, and told the truth."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from kinepy import KeyValue, Store, open_store
from kinepy.clock import SystemClock
from kinepy.drivers import open_driver
from kinepy.errors import Overloaded, StorageUnavailable, WriteOutcomeUnknown
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
