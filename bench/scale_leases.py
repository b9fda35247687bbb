"""Very many leases that run out within a minute, ended by two processes."""

import asyncio
import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench.table import Row, percentile
from kinepy import EventType, KeyRange, Revision, open_store
from tests.scale.years import write_leases

SPREAD_S, FIRST_S = 60.0, 5.0
LEASED = KeyRange.prefix(b"/leased/")
SCALE = Path(__file__).with_name("scale.py")


async def run_lessor(url: str) -> None:
    """Be a process that has the store open, until standard input ends."""
    async with open_store(url):
        await asyncio.to_thread(sys.stdin.read)


@contextlib.contextmanager
def another_process(url: str) -> Iterator[None]:
    """A second process on the database."""
    process = subprocess.Popen([sys.executable, SCALE, "--lessor", url], stdin=subprocess.PIPE)
    try:
        yield
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(timeout=60)


async def measure(url: str, *, leases: int) -> list[Row]:
    """How long after its instant each lease ended, and whether each ended once and alone."""
    begun = time.time()
    # Long enough to write them all.
    first_s = FIRST_S + leases / 10_000
    await write_leases(url, leases=leases, first_s=first_s, spread_s=SPREAD_S)
    lags: list[float] = []
    revisions: dict[bytes, int] = {}
    with another_process(url):
        async with open_store(url) as store, store.watch(LEASED, start=Revision(leases + 2)) as watch:
            while len(revisions) < leases:
                batch = await anext(watch)
                now = time.time()
                for event in batch.events:
                    assert event.type is EventType.DELETE and event.kv.key not in revisions
                    revisions[event.kv.key] = event.revision
                    number = int(event.kv.key.rpartition(b"/")[2]) - 1
                    lags.append(now - (begun + first_s + number * SPREAD_S / leases))
            # The other process may still be at it: nothing may follow.
            assert await watch.next(timeout_s=2.0) is None
            assert await store.current_revision() == 2 * leases + 1
            own = store.metrics.batch_size.count
    assert len(set(revisions.values())) == leases, "two leases ended in one revision"
    lags.sort()
    return [
        Row(
            name=f"{leases} leases that expire within {SPREAD_S:.0f} s, 2 processes",
            per_second=leases / SPREAD_S,
            p50_ms=percentile(lags, 0.5) * 1000,
            p99_ms=percentile(lags, 0.99) * 1000,
            note=f"lag behind the instant; {own} commits of one of them; every key deleted once",
        )
    ]
