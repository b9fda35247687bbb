"""What is done to a database from outside its servers: checking it, choosing a revision to compact to, new epochs.

Everything here is safe while servers run on the same database.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from kinepy.clock import Clock, SystemClock
from kinepy.drivers.base import Driver, EpochRow
from kinepy.drivers.open import open_driver
from kinepy.log.epochs import begin_epoch
from kinepy.migrate import migrate
from kinepy.revision import Revision
from kinepy.settings import Settings

if TYPE_CHECKING:
    from kinepy.check import CheckReport, Progress


@asynccontextmanager
async def _opened(url: str, settings: Settings | None, clock: Clock) -> AsyncIterator[Driver]:
    settings = settings or Settings()
    await migrate(url, settings, clock)
    driver = await open_driver(url, settings, clock)
    try:
        yield driver
    finally:
        await driver.close()


async def check_database(
    url: str,
    *,
    settings: Settings | None = None,
    clock: Clock | None = None,
    progress: "Progress | None" = None,
) -> "CheckReport":
    """Check the log and all that is derived from it, in one snapshot."""
    from kinepy.check import check

    async with _opened(url, settings, clock or SystemClock()) as driver:
        return await check(driver, progress=progress)


async def revision_to_keep(
    url: str, *, keep_s: float, settings: Settings | None = None, clock: Clock | None = None
) -> Revision | None:
    """The revision to compact to so that the last `keep_s` seconds stay readable; None when all history is younger."""
    async with _opened(url, settings, clock or SystemClock()) as driver, driver.read() as snapshot:
        instant = await snapshot.now_us() - int(keep_s * 1_000_000)
        return await snapshot.revision_before(committed_at=instant)


async def start_epoch(
    url: str, *, reason: str, settings: Settings | None = None, clock: Clock | None = None
) -> EpochRow:
    """Jump ahead of every revision that clients may have seen, and give up the history before.

    For a database that is older than its clients: restored from a backup, or failed over with commits lost.
    Watches and reads of older revisions get `Compacted` and start anew.
    """
    async with _opened(url, settings, clock or SystemClock()) as driver, driver.write() as tx:
        return await begin_epoch(tx, seen=tx.revision, reason=reason)
