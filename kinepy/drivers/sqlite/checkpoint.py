"""Moving the write-ahead log into the database file beside the commits, not inside one.

SQLite itself does it in the COMMIT that finds the log too long, and everybody waits for it. Here a connection of its
own copies most of the log while writes go on, and only the little that came meanwhile while none does: then the log is
empty, and the next commit begins it anew.
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
"""How long the log gets, about: 10 MB. What is flushed to disk at once is what commits meanwhile wait behind."""
_FEW_PAGES: Final = PAGES // 32
_RESTS: Final = 3.0
"""So many times as long as the last time took must have passed until few pages are enough: little is flushed at once
while there is little to flush. Under more writes the same pages would be flushed again and again."""
_PAGES_A_COMMIT: Final = 16.0
_ROUNDS_MAX: Final = 3
_REST_PAGES: Final = 128


class Checkpointer:
    """Learns how many pages a commit adds, and moves the log when there are enough."""

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
        self._left = 0
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
            await self.move()
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
        commits, self._commits = self._commits, 0
        pages, moved = await self._step()
        if commits:
            added = pages - self._left if pages >= self._left else pages
            self._pages_a_commit = max(added / commits, 1.0)
        for _ in range(_ROUNDS_MAX):
            if pages - moved <= _REST_PAGES:
                break
            pages, moved = await self._step()
        async with self._without_writes():
            pages, moved = await self._step()
        # When all of it was moved, and nobody reads it, the next commit begins it anew.
        self._left = 0 if moved == pages else pages

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
