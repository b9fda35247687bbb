"""Moving the write-ahead log into the database file beside the commits, not inside one.

SQLite itself does it in the COMMIT that finds the log too long, and everybody waits for it. Here a connection of its
own copies the log while writes go on, few pages at a time: commits wait behind what is flushed to disk at once, and a
page far from the others costs as much as forty neighbours. When the log has become long, the little that came meanwhile
is copied while nobody writes: then the log is empty, and the next commit begins it anew.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final

from kinepy.clock import Clock
from kinepy.drivers.lasting import to_the_end
from kinepy.drivers.sqlite.connection import WAL_PAGES_MAX, ThreadConnection
from kinepy.errors import KinepyError

log = logging.getLogger("kinepy")

PAGES: Final = WAL_PAGES_MAX // 6
"""How long the log gets, about: 10 MB."""
_FEW_PAGES: Final = PAGES // 32
_RESTS: Final = 3.0
"""So many times as long as the last time took must have passed until few pages are enough. Under more writes the same
pages would be flushed again and again."""
_PAGES_A_COMMIT: Final = 16.0
_ROUNDS_MAX: Final = 3
_REST_PAGES: Final = 128


class Checkpointer:
    """Learns how many pages a commit adds, and copies them when there are enough."""

    def __init__(
        self,
        connect: Callable[[], sqlite3.Connection],
        without_writes: Callable[[], AbstractAsyncContextManager[None]],
        clock: Clock,
    ) -> None:
        self._connect, self._without_writes, self._clock = connect, without_writes, clock
        self._connection: ThreadConnection | None = None
        self._task: asyncio.Task[None] | None = None
        self._moving = asyncio.Lock()
        self._commits = 0
        self._pages_a_commit = _PAGES_A_COMMIT
        self._log_pages, self._long_pages = 0, PAGES
        self._rests_until = clock.monotonic()
        self._closed = False

    def committed(self) -> None:
        """A commit was added to the log."""
        self._commits += 1
        pages = self._commits * self._pages_a_commit
        if pages < _FEW_PAGES or self._task is not None or self._closed:
            return
        if pages >= PAGES or self._clock.monotonic() >= self._rests_until:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def at_rest(self) -> None:
        """Wait for the end of what is under way."""
        if self._task is not None:
            await asyncio.wait((self._task,))

    async def _run(self) -> None:
        began = self._clock.monotonic()
        try:
            async with self._moving:
                await (self._move() if self._log_pages >= self._long_pages else self._copy())
        except KinepyError as error:
            # The next commits try again, and SQLite itself does it when the log has become too long.
            log.warning("checkpoint: %s", error)
        finally:
            ended = self._clock.monotonic()
            self._task, self._rests_until = None, ended + _RESTS * (ended - began)

    async def move(self) -> None:
        """Move the log into the file, after who does so already."""
        async with self._moving:
            await self._move()

    async def _move(self) -> None:
        left = await self._copy()
        for _ in range(_ROUNDS_MAX):
            if left <= _REST_PAGES:
                break
            left = await self._copy()
        async with self._without_writes():
            left = await self._copy()
        if left:
            # Somebody reads an old state: that may take long, and each attempt holds up the writes.
            self._long_pages = self._log_pages + PAGES
        else:
            self._log_pages = 0

    async def _copy(self) -> int:
        """Copy what is in the log, and learn from its length; returns how many pages are left to copy."""
        commits, self._commits = self._commits, 0
        pages, moved = await self._step()
        if commits:
            # The log may have begun anew, if all of it was copied the last time.
            expected = commits * self._pages_a_commit
            added = min((pages - self._log_pages, pages), key=lambda each: abs(each - expected))
            self._pages_a_commit = max(added / commits, 1.0)
        self._log_pages = pages
        if moved == pages:
            self._long_pages = PAGES
        return pages - moved

    async def _step(self) -> tuple[int, int]:
        """Copy what can be copied without anybody waiting; returns the pages of the log, and how many are copied."""
        if self._connection is None:
            await to_the_end(self._open())
        assert self._connection is not None
        return await to_the_end(self._connection.run(_checkpoint))

    async def _open(self) -> None:
        """Kept also when who asked for it is cancelled meanwhile: `close` closes it."""
        self._connection = await ThreadConnection.open(self._connect)

    async def close(self) -> None:
        """Finish what is under way and close the connection."""
        self._closed = True
        await self.at_rest()
        if self._connection is not None:
            await self._connection.close()

    def abandon(self) -> None:
        """Wait no more for what is under way."""
        if self._connection is not None:
            self._connection.abandon()


def _checkpoint(raw: sqlite3.Connection) -> tuple[int, int]:
    _, pages, moved = raw.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return max(pages, 0), max(moved, 0)
