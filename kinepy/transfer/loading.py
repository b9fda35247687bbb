"""From lines to rows of a transaction, which its caller commits or undoes as a whole."""

import asyncio
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from kinepy.drivers.base import LeaseRow, LogRow, WriteTransaction
from kinepy.log.pages import BYTES_AIM
from kinepy.transfer.exporting import Progress
from kinepy.transfer.files import body
from kinepy.transfer.form import End, Json, lease_of, row_of

ROWS_AT_ONCE: Final = 1000
SECOND_US: Final = 1_000_000
EPOCH_REASON_LENGTH_MAX: Final = 200

Line = tuple[int, Json]


class Loader:
    """Puts rows into a transaction, in chunks of bounded size."""

    def __init__(self, tx: WriteTransaction, *, now_us: int) -> None:
        self._tx, self._now_us = tx, now_us
        self.rows = self.leases = 0

    async def put_rows(self, rows: list[LogRow]) -> None:
        """Append rows, those of one key in order."""
        await self._tx.append(rows, notify=False)
        # SQLite's driver keeps what is appended until something is asked.
        await self._tx.current()
        self.rows += len(rows)

    async def put_lease(self, lease: LeaseRow) -> None:
        """Put a lease whose time begins anew: its holder could not keep it alive meanwhile."""
        expires_at = max(lease.expires_at, self._now_us + lease.ttl_s * SECOND_US)
        await self._tx.put_lease(lease._replace(expires_at=min(expires_at, 2**63 - 1)))
        self.leases += 1


async def load_file(loader: Loader, path: Path, *, end: End, progress: Progress | None = None) -> None:
    """Load the leases and rows of a file that was verified. Raises `BadTransfer`."""
    lines = body(path)
    while chunk := await asyncio.to_thread(_next_chunk, lines):
        leases = [lease_of(line, number) for number, line in chunk if "ttl_s" in line]
        rows = [row_of(line, number) for number, line in chunk if "ttl_s" not in line]
        for lease in leases:
            await loader.put_lease(lease)
        if rows:
            await loader.put_rows(rows)
        if progress is not None:
            progress(loader.rows, end.rows)


def _next_chunk(lines: Iterator[Line]) -> list[Line]:
    chunk: list[Line] = []
    size = 0
    for line in islice(lines, ROWS_AT_ONCE):
        chunk.append(line)
        size += len(line[1].get("value") or line[1].get("value64") or "")
        if size >= BYTES_AIM:
            break
    return chunk
