"""Compaction on SQLite."""

import fcntl
import os
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from typing import Final

from kinepy.drivers.reading import range_parameters
from kinepy.drivers.sqlite.checkpoint import Checkpointer
from kinepy.drivers.sqlite.connection import Work
from kinepy.drivers.sqlite.read import PREPARED
from kinepy.drivers.sqlite.write import UPSERTS
from kinepy.errors import StorageUnavailable
from kinepy.keys import KeyRange
from kinepy.revision import Revision
from kinepy.sql import writes

_PAGES_A_STEP: Final = 256
_FREE_PAGES_KEPT: Final = 64


@contextmanager
def file_lock(path: str) -> Iterator[bool]:
    """Try to hold a lock file; tells whether it is held. It dies with the process. Raises `StorageUnavailable`.

    Never the database file itself: closing any descriptor of it would drop SQLite's own locks on it.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StorageUnavailable(f"the lock file of maintenance cannot be opened ({error})") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        except OSError as error:
            raise StorageUnavailable(f"the lock file of maintenance cannot be locked ({error})") from error
        else:
            yield True
    finally:
        os.close(descriptor)


class SqliteMaintenance:
    """Every call is one short write transaction, made by `transact`; `outside` runs work between transactions."""

    def __init__(
        self,
        transact: Callable[[Work[int]], Awaitable[int]],
        outside: Callable[[Work[int]], Awaitable[int]],
        *,
        checkpointer: Checkpointer | None = None,
    ) -> None:
        self._transact, self._outside, self._checkpointer = transact, outside, checkpointer

    async def put_floor(self, prefix: bytes, revision: Revision) -> None:
        text = PREPARED[UPSERTS.raise_floor].text
        await self._transact(lambda raw: raw.execute(text, (prefix, revision)).rowcount)

    def beside_no_checkpoint(self) -> AbstractAsyncContextManager[None]:
        # Both at once would hold up the writes for longer than one after the other.
        return self._checkpointer.held_off() if self._checkpointer is not None else nullcontext()

    async def delete_superseded(
        self, key_range: KeyRange, *, after: Revision, upto: Revision, floor: Revision
    ) -> int:
        if key_range.is_empty:
            return 0
        # A tombstone leads to the row before it, so it goes after that row.
        deletions = [
            PREPARED[writes.delete_followed.on(key_range)],
            PREPARED[writes.delete_tombstones.on(key_range)],
        ]
        parameters = {"after": after, "upto": upto, "floor": floor, **range_parameters(key_range)}

        def work(raw: sqlite3.Connection) -> int:
            return sum(raw.execute(each.text, each.args(parameters)).rowcount for each in deletions)

        return await self._transact(work)

    async def reclaim(self) -> None:
        # Writes that wait have their turn between the steps.
        while await self._outside(_vacuum_some) > 0:
            pass
        if self._checkpointer is not None:
            await self._checkpointer.move()


def _vacuum_some(raw: sqlite3.Connection) -> int:
    """Give some free pages back; returns how many more are to go.

    A quarter of the file's pages may stay free: history that goes makes room for history that comes, and a file that
    shrinks and grows all the time is written twice.
    """
    spare = _spare_pages(raw)
    if spare <= 0:
        return 0
    raw.execute(f"PRAGMA incremental_vacuum({min(spare, _PAGES_A_STEP)})").fetchall()
    left = _spare_pages(raw)
    return left if left < spare else 0


def _spare_pages(raw: sqlite3.Connection) -> int:
    free, pages = (
        int(raw.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("freelist_count", "page_count")
    )
    return free - (pages - free) // 3 - _FREE_PAGES_KEPT
