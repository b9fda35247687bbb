"""Stores with something of everything in them, and what is looked at to compare two."""

from kinepy import KeyRange, Revision, open_store
from kinepy.clock import SystemClock
from kinepy.drivers.base import HistoryRow
from kinepy.drivers.open import open_driver
from kinepy.records import KeyValue
from kinepy.settings import Settings

KEYS = 150
NOT_TEXT = b"\xff\x00\xfe"


async def fill(url: str) -> Revision:
    """Creates, updates, deletes, a large value, bytes that are no text, a lease. Returns the revision."""
    async with open_store(url) as store:
        lease = await store.grant_lease(600)
        for i in range(KEYS):
            await store.put(b"/k/%03d" % i, b'{"n": %d, "\xc3\xa4": "\\u0000"}' % i, actor=f"user {i % 3}")
        for i in range(0, KEYS, 3):
            await store.put(b"/k/%03d" % i, NOT_TEXT * i)
        for i in range(0, KEYS, 10):
            await store.delete(b"/k/%03d" % i)
        await store.put(b"/k/000", b"again", lease=lease.id)
        await store.put(NOT_TEXT, b"")
        await store.put(b"/large", b"x" * 1_000_000)
        return await store.current_revision()


async def state_of(url: str) -> list[KeyValue]:
    """All live keys, with their revisions."""
    async with open_store(url) as store:
        return list((await store.range(KeyRange.everything())).items)


async def log_of(url: str) -> list[HistoryRow]:
    """Every row of the log with its predecessor."""
    driver = await open_driver(url, Settings(), SystemClock())
    try:
        async with driver.read() as tx:
            current = await tx.current()
            return list(
                await tx.history(KeyRange.everything(), after=Revision(0), upto=current, limit=100_000)
            )
    finally:
        await driver.close()
