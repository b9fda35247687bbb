"""Writes at a steady rate, first with nothing to compact, then while retention gives up as much as is written."""

import asyncio
import os
import time
from dataclasses import dataclass, field

from bench.store_load import CALLERS, key
from bench.table import Row, percentile
from kinepy import Settings, Store, open_store

KEYS, VALUE = 10_000, b"x" * 1024
KEPT_S, INTERVAL_S = 60.0, 5.0
RETAINING = Settings(
    compaction_keep_s=KEPT_S,
    compaction_keep_changes=0,
    compaction_interval_s=INTERVAL_S,
    ring_bytes_max=16 * 2**20,
)


@dataclass
class Phase:
    """What was measured for a while."""

    seconds: list[float] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)

    def row(self, name: str, note: str) -> Row:
        ordered, wall_s = sorted(self.seconds), time.perf_counter() - self.began
        return Row(
            name=name,
            per_second=len(ordered) / wall_s,
            p50_ms=percentile(ordered, 0.5) * 1000,
            p99_ms=percentile(ordered, 0.99) * 1000,
            note=note,
        )


async def write_steadily(store: Store, phase: Phase, *, rate: int, seconds: float) -> None:
    """64 callers that together write at a steady rate, or as fast as they can where that is less."""
    began = time.perf_counter()
    numbers = iter(range(int(rate * seconds)))

    async def caller() -> None:
        for number in numbers:
            await asyncio.sleep(max(0.0, began + number / rate - time.perf_counter()))
            called = time.perf_counter()
            if called - began > seconds:
                return
            await store.put(key(number % KEYS), VALUE)
            phase.seconds.append(time.perf_counter() - called)

    async with asyncio.TaskGroup() as group:
        for _ in range(CALLERS):
            group.create_task(caller())


def wal_bytes(url: str) -> int:
    """How large SQLite's write-ahead log has become."""
    return os.path.getsize(url.removeprefix("sqlite:///") + "-wal")


async def measure(url: str, *, seconds: float, rate: int) -> list[Row]:
    """The rows: writes before there is anything to compact, writes while it is, and what is left on disk."""
    rows = []
    async with open_store(url, RETAINING) as store:
        before = Phase()
        await write_steadily(store, before, rate=rate, seconds=KEPT_S)
        rows.append(before.row("writes, nothing to compact", f"{KEPT_S:.0f} s"))
        during = Phase()
        await write_steadily(store, during, rate=rate, seconds=seconds)
        deleted = store.metrics.compacted_rows
        rows.append(during.row("writes while compacting", f"{seconds:.0f} s, {deleted} rows deleted"))
        status = await store.status()
        written = len(during.seconds) / seconds
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
