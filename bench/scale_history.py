"""What reads and writes cost with few revisions and with very many, of the same keys."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from bench.store_load import calls, steady_calls
from bench.table import Row
from kinepy import KeyRange, Revision, Settings, Store, open_store
from tests.scale.years import PREFIX, key, write_years

FEW, KEYS = 20_000, 10_000
STRIDE = 7_919
"""Keys are taken far from each other, as clients take them: neighbours share pages where a key has few versions."""
RATE, STEADY_S = 5000, 20.0
WHOLE = KeyRange.prefix(PREFIX)
FROM_MEMORY = Settings(compaction_interval_s=86_400.0)
FROM_DATABASE = replace(FROM_MEMORY, index_bytes_max=400, cache_bytes_max=0, ring_bytes_max=0)


async def measure(url: str, *, revisions: int) -> list[Row]:
    """Build the history, then measure with everything in memory and with nothing in it."""
    began = time.perf_counter()
    await write_years(url, revisions=revisions, keys=KEYS, value=b"x" * 100)
    built = Row(name="revisions built", per_second=revisions / (time.perf_counter() - began))
    rows = [built]
    for where, settings in (("memory", FROM_MEMORY), ("database", FROM_DATABASE)):
        began = time.perf_counter()
        async with open_store(url, settings) as store:
            rows.append(Row(name="open, s", per_second=time.perf_counter() - began))
            rows += [
                await calls(f"{name} from {where}", call, total=total)
                for name, call, total in operations(store, Revision(await store.current_revision() - 100))
            ]
            update = partial(update_one, store)
            rows.append(
                await steady_calls(
                    f"update at a steady rate from {where}", update, rate=RATE, seconds=STEADY_S
                )
            )
    return [replace(row, name=f"{row.name}, {revisions} revisions") for row in rows]


Operation = tuple[str, Callable[[int], Awaitable[object]], int]


def operations(store: Store, near: Revision) -> list[Operation]:
    """What is called, and how often. `near` is a revision of a moment ago."""

    async def start_watch(_: int) -> None:
        async with store.watch(WHOLE, start=near) as watch:
            await anext(watch)

    return [
        ("get", lambda n: store.get(key(n * STRIDE % KEYS)), 10_000),
        ("list of 500", lambda _: store.range(WHOLE, limit=500), 300),
        ("list of 500 a moment ago", lambda _: store.range(WHOLE, limit=500, at=near), 300),
        ("count", lambda _: store.count(WHOLE), 300),
        ("watch from a moment ago", start_watch, 1000),
        ("update", partial(update_one, store), 40_000),
    ]


def update_one(store: Store, number: int) -> Awaitable[object]:
    """An update of one key."""
    return store.update(key(number * STRIDE % KEYS), b"y" * 100)
