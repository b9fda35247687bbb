"""Writes at a steady rate, first with nothing to compact, then while retention gives up as much as is written."""

import os
from collections.abc import Awaitable
from dataclasses import replace

from bench.store_load import key, steady_calls
from bench.table import Row
from kinepy import Settings, open_store

KEYS, VALUE = 10_000, b"x" * 1024
KEPT_S, INTERVAL_S = 60.0, 5.0
RETAINING = Settings(
    compaction_keep_s=KEPT_S,
    compaction_keep_changes=0,
    compaction_interval_s=INTERVAL_S,
    ring_bytes_max=16 * 2**20,
)


def wal_bytes(url: str) -> int:
    """How large SQLite's write-ahead log has become."""
    return os.path.getsize(url.removeprefix("sqlite:///") + "-wal")


async def measure(url: str, *, seconds: float, rate: int) -> list[Row]:
    """The rows: writes before there is anything to compact, writes while it is, and what is left on disk."""
    rows = []
    async with open_store(url, RETAINING) as store:

        def put(number: int) -> Awaitable[object]:
            return store.put(key(number % KEYS), VALUE)

        before = await steady_calls("writes, nothing to compact", put, rate=rate, seconds=KEPT_S)
        rows.append(replace(before, note=f"{KEPT_S:.0f} s"))
        during = await steady_calls("writes while compacting", put, rate=rate, seconds=seconds)
        rows.append(replace(during, note=f"{seconds:.0f} s, {store.metrics.compacted_rows} rows deleted"))
        status = await store.status()
        written = during.per_second
        kept = KEYS + written * (KEPT_S + INTERVAL_S)
        lag = (status.log_rows - kept) / written
        rows.append(
            Row(
                name="rows left", per_second=status.log_rows, note=f"{lag:+.1f} s of writes beside {kept:.0f}"
            )
        )
        row_bytes = len(VALUE) + 3 * len(key(0)) + 120
        ratio = status.size_bytes / (kept * row_bytes)
        rows.append(
            Row(
                name="size, MB",
                per_second=status.size_bytes / 1e6,
                note=f"{ratio:.2f} of live data and retained history, to be under 3",
            )
        )
        if url.startswith("sqlite"):
            rows.append(Row(name="write-ahead log, MB", per_second=wal_bytes(url) / 1e6))
    return rows
