"""The clock is set forward while a process runs, on SQLite, where time is the process' own: nothing ends early."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from kinepy import EventType, KeyRange, Revision, Settings, Store, open_store
from kinepy.check import check
from tests.faults.clocks import FAST, HOUR_S, SetClock

TTL_S = 2
KEYS = KeyRange.prefix(b"leased")


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'a.db'}"


@asynccontextmanager
async def opened(url: str, clock: SetClock, settings: Settings = FAST) -> AsyncIterator[Store]:
    """A store, sound at its end."""
    async with open_store(url, settings, clock=clock) as store:
        yield store
        report = await check(store._driver)
        assert report.clean, report


async def deleted(store: Store) -> Revision:
    """Waits for the next delete."""
    async with asyncio.timeout(15), store.watch(KEYS) as watch:
        async for batch in watch:
            for event in batch.events:
                if event.type is EventType.DELETE:
                    return event.revision
    raise AssertionError("the watch ended")


async def test_a_lease_lives_as_long_as_it_should_and_ends_once(url: str) -> None:
    clock = SetClock()
    async with opened(url, clock) as store:
        lease = await store.grant_lease(TTL_S)
        made = await store.put(b"leased", b"", lease=lease.id)
        began = clock.monotonic()
        end = asyncio.create_task(deleted(store))
        await asyncio.sleep(0)
        clock.wrong_by_s = HOUR_S
        status = await store.lease_status(lease.id)
        assert TTL_S - 1 < status.remaining_s <= TTL_S
        assert await store.leases() == [lease.id]
        assert await end == made.mod_revision + 1
        assert TTL_S - 0.1 < clock.monotonic() - began < TTL_S + 5


async def test_its_holder_may_keep_it_alive(url: str) -> None:
    clock = SetClock()
    async with opened(url, clock, replace(FAST, lease_check_interval_s=60)) as store:
        lease = await store.grant_lease(TTL_S)
        clock.wrong_by_s = HOUR_S
        kept = await store.keep_lease_alive(lease.id)
        assert kept.expires_at_us > lease.expires_at_us + (HOUR_S - 1) * 1_000_000
        await store.put(b"leased", b"", lease=lease.id)


async def test_leases_of_before_and_after_end_in_their_turn(url: str) -> None:
    clock = SetClock()
    async with opened(url, clock) as store:
        before = await store.grant_lease(TTL_S + 1)
        await store.put(b"leased/before", b"", lease=before.id)
        clock.wrong_by_s = HOUR_S
        after = await store.grant_lease(1)
        await store.put(b"leased/after", b"", lease=after.id)
        await deleted(store)
        assert await store.get(b"leased/after") is None
        assert await store.get(b"leased/before") is not None
        await deleted(store)


async def test_a_lease_that_another_process_keeps_alive_does_not_end(url: str) -> None:
    """The clock of one process alone is set: nothing that the others do ends early for it."""
    clock = SetClock()
    async with opened(url, clock) as stepped, opened(url, SetClock()) as other:
        lease = await other.grant_lease(TTL_S)
        await other.put(b"leased", b"", lease=lease.id)
        await stepped.put(b"a", b"")
        clock.wrong_by_s = HOUR_S
        for _ in range(6):
            await asyncio.sleep(TTL_S / 4)
            await other.keep_lease_alive(lease.id)
        assert await stepped.get(b"leased") is not None
        await deleted(stepped)


async def test_history_is_not_older_for_it(url: str) -> None:
    clock = SetClock()
    settings = replace(FAST, compaction_interval_s=3600, compaction_keep_changes=0)
    async with opened(url, clock, settings) as store:
        written = await store.put(b"a", b"")
        await store.put(b"a", b"")
        clock.wrong_by_s = 2 * HOUR_S
        assert await store.revision_before(age_s=HOUR_S) is None
        await store._compactor.apply_retention()
        assert await store.get(b"a", at=written.mod_revision) is not None
