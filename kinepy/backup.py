"""Backing up, restoring and moving a store. What changes a database does so in one transaction, checked before its end:
all of it or nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import randbits

from kinepy.check import CheckReport, check_snapshot
from kinepy.clock import Clock, SystemClock
from kinepy.drivers.base import Driver, EpochRow, WriteTransaction
from kinepy.drivers.clearing import clear
from kinepy.drivers.open import open_driver
from kinepy.drivers.open_kine import open_kine
from kinepy.drivers.url import parse_url
from kinepy.errors import WriteOutcomeUnknown
from kinepy.log.epochs import begin_epoch
from kinepy.migrate import migrate
from kinepy.revision import FIRST_REVISION, Revision
from kinepy.settings import Settings
from kinepy.transfer.exporting import Progress, export_rows, header_for
from kinepy.transfer.files import Writer, replacing, verified
from kinepy.transfer.form import Contents, Header
from kinepy.transfer.kine import Convert, as_it_is, load_kine
from kinepy.transfer.loading import Loader, load_file
from kinepy.transfer.problems import BadTransfer

__all__ = [
    "BadTransfer",
    "Transferred",
    "export_database",
    "import_database",
    "import_kine",
    "restore_database",
]

PATIENCE_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Transferred:
    """What was moved. `epoch` is the one that a restored or imported state begins."""

    revision: Revision
    rows: int
    leases: int
    epoch: EpochRow | None = None


@asynccontextmanager
async def _opened(url: str, settings: Settings | None, clock: Clock) -> AsyncIterator[Driver]:
    """An open database whose statements may take as long as a large table needs."""
    settings = replace(
        settings or Settings(),
        statement_timeout_s=PATIENCE_S,
        write_timeout_s=PATIENCE_S,
        idle_in_transaction_timeout_s=PATIENCE_S,
    )
    await migrate(url, settings, clock)
    driver = await open_driver(url, settings, clock)
    try:
        yield driver
    finally:
        await driver.close()


async def export_database(
    url: str,
    path: Path,
    *,
    contents: Contents = "state",
    force: bool = False,
    settings: Settings | None = None,
    clock: Clock | None = None,
    progress: Progress | None = None,
) -> Transferred:
    """Write one snapshot to a file: the live state, or the whole log. Servers may run meanwhile.

    Raises `BadTransfer`, `OSError`; the file appears whole or not at all.
    """
    async with _opened(url, settings, clock or SystemClock()) as driver, driver.read() as tx:
        header = await header_for(tx, contents)
        with replacing(path, force=force) as file:
            writer = Writer(file, header)
            await export_rows(tx, writer, header, progress=progress)
            end = writer.end()
    return Transferred(header.revision, end.rows, end.leases)


async def restore_database(
    url: str,
    path: Path,
    *,
    force: bool = False,
    settings: Settings | None = None,
    clock: Clock | None = None,
    progress: Progress | None = None,
) -> Transferred:
    """Put the state of a file in place of what a database holds, and begin a new epoch.

    A database that is not empty is replaced with `force` only. Raises `BadTransfer`, `OSError`: nothing is changed
    then.
    """
    header, end = await asyncio.to_thread(verified, path)
    async with _changing(url, settings, clock, force=force) as tx:
        loader = Loader(tx, now_us=await tx.now_us())
        await load_file(loader, path, end=end, progress=progress)
        seen = max(tx.revision, header.revision)
        epoch = await begin_epoch(tx, seen=seen, reason=f"restored at revision {header.revision}")
        await _check(tx)
    return Transferred(header.revision, loader.rows, loader.leases, epoch)


async def import_database(
    url: str,
    path: Path,
    *,
    settings: Settings | None = None,
    clock: Clock | None = None,
    progress: Progress | None = None,
) -> Transferred:
    """Move a file into an empty database, with its revisions.

    History goes on as it was. After a state, history begins: the next revision is free of every older reading.
    Raises `BadTransfer`, `OSError`: nothing is changed then.
    """
    header, end = await asyncio.to_thread(verified, path)
    async with _changing(url, settings, clock) as tx:
        loader = Loader(tx, now_us=await tx.now_us())
        await load_file(loader, path, end=end, progress=progress)
        epoch = None
        if header.contents == "history":
            await _go_on(tx, header)
        else:
            epoch = await _begin_after(tx, header.revision, reason=f"imported from store {header.store_id}")
        await _check(tx)
    return Transferred(header.revision, loader.rows, loader.leases, epoch)


async def import_kine(
    url: str,
    kine_url: str,
    *,
    convert: Convert = as_it_is,
    settings: Settings | None = None,
    clock: Clock | None = None,
    progress: Progress | None = None,
) -> Transferred:
    """Move the live state of a kine database into an empty one, with its revisions. See `kinepy.transfer.kine`.

    `convert` makes the value to store of a key and its value. Raises `BadTransfer`: nothing is changed then.
    """
    async with (
        open_kine(kine_url, settings or Settings()) as kine,
        _changing(url, settings, clock) as tx,
    ):
        now_us = await tx.now_us()
        loader = Loader(tx, now_us=now_us)
        revision = await load_kine(
            loader, kine, batch=randbits(62), now_us=now_us, convert=convert, progress=progress
        )
        epoch = await _begin_after(tx, revision, reason="imported from kine")
        await _check(tx)
    return Transferred(revision, loader.rows, loader.leases, epoch)


@asynccontextmanager
async def _changing(
    url: str, settings: Settings | None, clock: Clock | None, *, force: bool = False
) -> AsyncIterator[WriteTransaction]:
    """The transaction in which a database gets another state."""
    try:
        async with _opened(url, settings, clock or SystemClock()) as driver, driver.write() as tx:
            if force:
                await clear(tx)
            elif tx.revision != FIRST_REVISION:
                shown = parse_url(url).shown
                raise BadTransfer(
                    f"{shown} is not empty but at revision {tx.revision}: name an empty database, "
                    "or have `kinepy restore` replace it with --force"
                )
            yield tx
    except WriteOutcomeUnknown as error:
        raise BadTransfer(
            f"{error.reason}: look at `kinepy status`, and do it again if nothing is there"
        ) from error


async def _go_on(tx: WriteTransaction, header: Header) -> None:
    for epoch in header.epochs:
        if epoch.number > 1:
            await tx.put_epoch(epoch)
    for prefix, floor in header.floors.items():
        await tx.put_floor(prefix, floor)
    current = await tx.current()
    if current != header.revision:
        raise BadTransfer(
            f"the file says revision {header.revision}, its rows {current}: it is damaged, take another copy"
        )


async def _begin_after(tx: WriteTransaction, revision: Revision, *, reason: str) -> EpochRow:
    """Let history begin right after a revision: a watch that had seen all of it goes on, all others list anew."""
    newest = max(epoch.number for epoch in await tx.epochs())
    epoch = EpochRow(newest + 1, Revision(revision + 1), reason, await tx.now_us())
    await tx.put_epoch(epoch)
    await tx.put_floor(b"", epoch.base_revision)
    return epoch


async def _check(tx: WriteTransaction) -> None:
    report = CheckReport()
    await check_snapshot(tx, report)
    if not report.clean:
        raise BadTransfer(f"the file breaks a promise of the store ({report.problems[0]}): take another copy")
