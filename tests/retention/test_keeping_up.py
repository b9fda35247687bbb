"""Compaction goes on beside writes, and room that history leaves is used again."""

import asyncio
from dataclasses import replace

from kinepy import KeyRange, Store, StoreStatus, open_store
from tests.contract.stores import FAST

KEYS, WRITES, VALUE = 50, 3000, b"x" * 1000
SETTINGS = replace(
    FAST,
    compaction_interval_s=0.05,
    compaction_keep_s=0.0,
    compaction_keep_changes=500,
    ring_bytes_max=100_000,
)


async def write(store: Store) -> None:
    numbers = iter(range(WRITES))

    async def caller() -> None:
        for number in numbers:
            await store.put(b"/k/%d" % (number % KEYS), VALUE)

    await asyncio.gather(*(caller() for _ in range(16)))


def is_small(status: StoreStatus) -> bool:
    """Whether what is left is near what is kept: PostgreSQL's autovacuum comes round only once a minute."""
    kept_bytes = (KEYS + 500) * 1300
    return status.log_rows <= KEYS + 500 + 1 and (
        status.database == "postgres" or status.size_bytes < 3 * kept_bytes
    )


async def test_the_file_stays_near_what_is_kept(database_url: str) -> None:
    async with open_store(database_url, SETTINGS) as store:
        await write(store)
        async with asyncio.timeout(20):
            while not is_small(await store.status()):
                await store.watch(KeyRange.everything()).next(timeout_s=0.05)
