"""From a snapshot to lines."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

from kinepy.drivers.base import LogRow, ReadTransaction
from kinepy.keys import KeyRange
from kinepy.log.pages import PageSize
from kinepy.revision import Revision
from kinepy.transfer.files import Writer
from kinepy.transfer.form import Contents, Header, lease_line, row_line

Progress = Callable[[int, int], None]
"""Is told how many rows are done, of how many."""


async def header_for(tx: ReadTransaction, contents: Contents) -> Header:
    """What the first line says of a snapshot."""
    return Header(
        contents=contents,
        store_id=await tx.store_id(),
        revision=await tx.current(),
        created_at=await tx.now_us(),
        floors=dict(await tx.floors()),
        epochs=tuple(await tx.epochs()),
    )


async def export_rows(
    tx: ReadTransaction, writer: Writer, header: Header, *, progress: Progress | None = None
) -> None:
    """Write leases and rows of a snapshot. Files are written in another thread: the loop stays free."""
    size = await tx.size()
    leases = await tx.leases()
    writer.leases = len(leases)
    await asyncio.to_thread(writer.put, map(lease_line, leases))
    total = size.keys if header.contents == "state" else size.log_rows
    pages = PageSize()
    rows = _live(tx, pages) if header.contents == "state" else _all(tx, pages, header.revision)
    async for page in rows:
        written = await asyncio.to_thread(writer.put, map(row_line, page))
        pages.saw(len(page), written)
        writer.rows += len(page)
        if progress is not None:
            progress(writer.rows, total)


async def _live(tx: ReadTransaction, pages: PageSize) -> AsyncIterator[Sequence[LogRow]]:
    rest = KeyRange.everything()
    while page := await tx.latest(rest, limit=pages.rows):
        yield page
        rest = rest.after(page[-1].key)


async def _all(tx: ReadTransaction, pages: PageSize, upto: Revision) -> AsyncIterator[Sequence[LogRow]]:
    after = Revision(0)
    while page := await tx.history(KeyRange.everything(), after=after, upto=upto, limit=pages.rows):
        yield [entry.row for entry in page]
        after = page[-1].row.revision
