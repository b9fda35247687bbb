"""Databases that look as if they had been written for years: built by bulk append, not by millions of calls."""

from collections.abc import Iterator

from kinepy.clock import SystemClock
from kinepy.drivers.base import LeaseRow, LogRow
from kinepy.drivers.open import open_driver
from kinepy.migrate import migrate
from kinepy.revision import Revision
from kinepy.settings import Settings

PREFIX = b"/registry/configmaps/default/"
A_BATCH = 10_000


def key(number: int) -> bytes:
    """The key of an object's number."""
    return PREFIX + b"obj-%06d" % number


def numbers(*, revisions: int, keys: int, run: int) -> Iterator[int]:
    """Which key changes next: each of them `run` times in a row, so that few pages change together; at the end, all in
    turn, twice."""
    deep = max(revisions - 2 * keys, 0)
    yield from (n // run % keys for n in range(deep))
    yield from (n % keys for n in range(revisions - deep))


def rows_of_years(
    *, revisions: int, keys: int, run: int, value: bytes, now_us: int
) -> Iterator[list[LogRow]]:
    """One change a millisecond, the last one now."""
    created, newest, versions = [[0] * keys for _ in range(3)]
    changing = numbers(revisions=revisions, keys=keys, run=run)
    for first in range(2, revisions + 2, A_BATCH):
        rows = []
        for revision in range(first, min(first + A_BATCH, revisions + 2)):
            number = next(changing)
            before, newest[number] = newest[number], revision
            created[number] = created[number] or revision
            versions[number] += 1
            at = now_us - (revisions + 1 - revision) * 1000
            # In the order of a row's columns.
            row = (
                revision,
                0,
                key(number),
                value,
                created[number],
                versions[number],
                before,
                None,
                first,
                at,
                None,
            )
            rows.append(LogRow._make(row))
        yield rows


async def write_years(url: str, *, revisions: int, keys: int, value: bytes, run: int = 100) -> None:
    """Fill an empty database with a long history of few keys."""
    settings, clock = Settings(statement_timeout_s=600.0), SystemClock()
    await migrate(url, settings, clock)
    driver = await open_driver(url, settings, clock)
    try:
        now_us = clock.now_us()
        for rows in rows_of_years(revisions=revisions, keys=keys, run=run, value=value, now_us=now_us):
            async with driver.write() as tx:
                await tx.append(rows, notify=False)
    finally:
        await driver.close()


async def write_leases(url: str, *, leases: int, first_s: float, spread_s: float) -> None:
    """Leases with a key each, which expire evenly over a while that begins `first_s` from now."""
    settings, clock = Settings(statement_timeout_s=600.0), SystemClock()
    await migrate(url, settings, clock)
    driver = await open_driver(url, settings, clock)
    start_us = clock.now_us() + int(first_s * 1e6)
    try:
        for first in range(0, leases, A_BATCH):
            numbers = range(first, min(first + A_BATCH, leases))
            async with driver.write() as tx:
                for n in numbers:
                    expires_at = start_us + int(n * spread_s / leases * 1e6)
                    await tx.put_lease(LeaseRow(n + 1, 60, expires_at))
                rows = [
                    LogRow(
                        revision := Revision(tx.revision + 1 + n - first),
                        0,
                        b"/leased/%d" % (n + 1),
                        b"x" * 64,
                        revision,
                        1,
                        Revision(0),
                        n + 1,
                        first + 1,
                        start_us,
                        None,
                    )
                    for n in numbers
                ]
                await tx.append(rows, notify=False)
    finally:
        await driver.close()
