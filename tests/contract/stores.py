"""Stores for tests, which must leave a sound database and no task behind."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kinepy import Event, KeyRange, Settings, Store, Watch, open_store
from kinepy.check import check
from kinepy.revision import Revision

ALL = KeyRange.everything()
FAST = Settings(lease_check_interval_s=0.05, poll_interval_s=0.005, poll_interval_notified_s=0.2)


@asynccontextmanager
async def checked_store(url: str, settings: Settings = FAST) -> AsyncIterator[Store]:
    """An open store. At the end the whole database is checked."""
    async with open_store(url, settings) as store:
        yield store
        report = await check(store._driver)
        assert report.clean, report
    assert all(task.done() for task in store._jobs.tasks)


async def events_upto(watch: Watch, revision: Revision) -> list[Event]:
    """What a watch tells up to a revision, which must come."""
    events: list[Event] = []
    async with asyncio.timeout(10):
        while watch.progress < revision:
            batch = await watch.next(timeout_s=0.05)
            if batch is not None:
                events.extend(batch.events)
    return events
