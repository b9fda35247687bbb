"""Several processes that write one database at once: how much they do together, and how evenly.

python -m bench.many_writers URL SECONDS CALLERS SHARED    one of the processes; waits for a line on its input
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from bench.table import Row, percentile
from kinepy import KeyValue, Store, open_store, retry_on_conflict
from kinepy.errors import StorageUnavailable

ROOT = Path(__file__).resolve().parent.parent
VALUE = b"x" * 1024
SHARED_KEYS = 16
ATTEMPTS_MAX = 1000
PROCESSES = {"sqlite": 3, "postgres": 4}
SLOWEST_TO_FASTEST_MAX = 3.0
"""how far the 99th percentiles of the processes may be apart"""


@dataclass(frozen=True)
class Figures:
    """What one process did: acknowledged writes, refused ones, and the time of each of the first, in ms."""

    writes: int
    conflicts: int
    unavailable: int
    p50_ms: float
    p99_ms: float
    longest_ms: float


@dataclass
class _Work:
    """The callers of one process, until a moment."""

    store: Store
    until: float
    seconds: list[float] = field(default_factory=list)
    attempts: int = 0
    unavailable: int = 0

    async def own(self, number: int) -> None:
        """Write keys that nobody else writes."""
        count = 0
        while (began := time.perf_counter()) < self.until:
            count += 1
            try:
                await self.store.put(b"own/%d/%d" % (number, count % 64), VALUE)
            except StorageUnavailable:
                self.unavailable += 1
            else:
                self.seconds.append(time.perf_counter() - began)

    async def shared(self, number: int) -> None:
        """Read and update keys that all write; a caller's time is that of the whole, with what it does again."""
        chance = Random(number)
        while (began := time.perf_counter()) < self.until:
            key = b"shared/%d" % chance.randrange(SHARED_KEYS)
            try:
                await retry_on_conflict(self.store, key, self._changed, attempts_max=ATTEMPTS_MAX)
            except StorageUnavailable:
                self.unavailable += 1
            else:
                self.seconds.append(time.perf_counter() - began)

    def _changed(self, _: KeyValue | None) -> bytes:
        self.attempts += 1
        return VALUE


async def work(url: str, *, seconds: float, callers: int, shared: bool) -> Figures:
    """One process' part: open the store, say so, wait for the start."""
    async with open_store(url) as store:
        base = Random().getrandbits(40)
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        running = _Work(store, time.perf_counter() + seconds)
        call = running.shared if shared else running.own
        async with asyncio.TaskGroup() as group:
            for number in range(callers):
                group.create_task(call(base + number))
    ordered = sorted(running.seconds) or [0.0]
    return Figures(
        writes=len(running.seconds),
        conflicts=max(running.attempts - len(running.seconds), 0),
        unavailable=running.unavailable,
        p50_ms=percentile(ordered, 0.5) * 1000,
        p99_ms=percentile(ordered, 0.99) * 1000,
        longest_ms=ordered[-1] * 1000,
    )


@contextmanager
def processes(
    url: str, count: int, *, seconds: float, callers: int = 64, shared: bool = False
) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that have the store open and begin when `begin` says so. Killed at the end, whatever they do."""
    arguments = [url, str(seconds), str(callers), str(int(shared))]
    command = [sys.executable, "-m", "bench.many_writers", *arguments]
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        for _ in range(count)
    ]
    try:
        for process in started:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                raise RuntimeError(f"a writer ended before it was ready: {process.wait()}")
        yield started
    finally:
        for process in started:
            process.kill()
            process.communicate()


def begin(started: list[subprocess.Popen[str]]) -> None:
    """Let all of them begin."""
    for process in started:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()


def figures(process: subprocess.Popen[str]) -> Figures:
    """What a process says at its end."""
    assert process.stdout is not None
    return Figures(**json.loads(process.stdout.readline()))


async def _prepare(url: str) -> None:
    async with open_store(url) as store:
        for number in range(SHARED_KEYS):
            await store.put(b"shared/%d" % number, VALUE)


def prepare(url: str) -> None:
    """Make the database, and the keys that all of them write."""
    asyncio.run(_prepare(url))


def run(url: str, count: int, *, seconds: float, callers: int = 64, shared: bool = False) -> list[Figures]:
    """All of it; one entry a process."""
    prepare(url)
    with processes(url, count, seconds=seconds, callers=callers, shared=shared) as started:
        begin(started)
        return [figures(process) for process in started]


def spread(found: list[Figures]) -> float:
    """How many times the fastest process' 99th percentile the slowest one's is."""
    return max(each.p99_ms for each in found) / min(each.p99_ms for each in found)


def row(name: str, found: list[Figures], *, seconds: float) -> Row:
    """The processes together."""
    shares = [each.writes for each in found]
    longest = max(each.longest_ms for each in found)
    note = f"slowest p99 / fastest {spread(found):.1f}; shares {min(shares)}-{max(shares)}; longest {longest:.0f} ms"
    if conflicts := sum(each.conflicts for each in found):
        note += f"; {conflicts} conflicts"
    return Row(
        name=name,
        per_second=sum(shares) / seconds,
        p50_ms=max(each.p50_ms for each in found),
        p99_ms=max(each.p99_ms for each in found),
        note=note,
    )


def measure(url: str, *, database: str, scale: float) -> list[Row]:
    """One process alone, then several with keys of their own, then with the same keys."""
    count = PROCESSES[database]
    seconds = max(10 * scale, 2)
    rows = []
    for writers, shared in ((1, False), (count, False), (count, True)):
        found = run(url, writers, seconds=seconds, shared=shared)
        keys = "keys that all change" if shared else "keys of their own"
        name = f"{database}: writers, {writers} x 64 callers, {keys}"
        rows.append(row(name, found, seconds=seconds))
    return rows


def main() -> None:
    """One of the processes."""
    import uvloop

    url, seconds, callers, shared = sys.argv[1:]
    found = uvloop.run(work(url, seconds=float(seconds), callers=int(callers), shared=shared == "1"))
    print(json.dumps(found.__dict__), flush=True)


if __name__ == "__main__":
    main()
