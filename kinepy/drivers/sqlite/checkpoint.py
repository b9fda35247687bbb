"""Moving the write-ahead log into the database file beside the commits, not inside one.

SQLite itself does it in the COMMIT that finds the log too long, and everybody waits for it. Here a connection of its
own copies the log while writes go on, few pages at a time: commits wait behind what is flushed to disk at once, and a
page far from the others costs as much as forty neighbours.

The commit after all was copied begins the log anew, unless somebody still reads from it. Under writes without a pause
there is always more to copy: when the log has become long, the little that came meanwhile is copied while this process
writes nothing. Others may write then. Each process does this for itself, and whoever is first does it for all.
"""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from kinepy.clock import Clock
from kinepy.drivers.lasting import to_the_end
from kinepy.drivers.sqlite.connection import WAL_PAGES_MAX, ThreadConnection
from kinepy.drivers.sqlite.errors import translated
from kinepy.errors import KinepyError

log = logging.getLogger("kinepy")

PAGES: Final = WAL_PAGES_MAX // 6
"""How long the log gets, about: 10 MB."""
_FEW_PAGES: Final = PAGES // 32
_RESTS: Final = 3.0
_REST_S: Final = 0.012
_PAGES_A_COMMIT: Final = 16.0
_ROUNDS_MAX: Final = 3
_REST_PAGES: Final = 128


def rest_s(took_s: float) -> float:
    """How long few pages are not enough after a copy that took so long. Without rests, the pages that are written most
    would be flushed again and again.

    Where pages lie far from each other, long rests make the next copy, and the rest after it, longer still. So they are
    short, but on a slow disk at least half as long as the copy.
    """
    return min(_RESTS * took_s, max(_REST_S, took_s / 2))


def added_pages(pages: int, before: int, *, expected: float) -> int:
    """How many pages were added to a log that had `before` and has `pages` now.

    It has begun anew if it is shorter, and may have if it is longer: then what is nearer to the expected is believed.
    """
    if pages < before:
        return pages
    return min(pages - before, pages, key=lambda added: abs(added - expected))


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
        self._was_long = False
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

    @asynccontextmanager
    async def held_off(self) -> AsyncIterator[None]:
        """Finish what is under way, and copy nothing until the end. What becomes due meanwhile comes right after it."""
        async with self._moving:
            yield

    async def _run(self) -> None:
        try:
            async with self._moving:
                await self._advance()
        except KinepyError as error:
            # The next commits try again, and SQLite itself does it when the log has become too long.
            log.warning("checkpoint: %s", error)
        finally:
            self._task = None

    async def _advance(self) -> None:
        """Copy, and empty a log that stays long."""
        began = self._clock.monotonic()
        try:
            left = await self._copy()
            was_long, self._was_long = self._was_long, self._log_pages >= self._long_pages
            # Once found long and copied, it mostly begins anew by itself: then nobody is held up.
            if was_long and self._was_long:
                await self._empty(left)
        finally:
            ended = self._clock.monotonic()
            self._rests_until = ended + rest_s(ended - began)

    async def move(self) -> None:
        """Move the log into the file, after who does so already."""
        async with self._moving:
            await self._empty(await self._copy())

    async def _empty(self, left: int) -> None:
        """Copy what is left, the last of it while this process writes nothing."""
        for _ in range(_ROUNDS_MAX):
            if left <= _REST_PAGES:
                break
            left = await self._copy()
        async with self._without_writes():
            left = await self._copy()
        self._was_long = False
        if left:
            # Somebody reads an old state, or another process copies: that may take long, and each attempt holds up
            # the writes.
            self._long_pages = self._log_pages + PAGES

    async def _copy(self) -> int:
        """Copy what is in the log, and learn from its length; returns how many pages are left to copy."""
        commits, self._commits = self._commits, 0
        found = await self._step()
        if found is None:
            # Nothing was seen of the log: what is known stays, and all of it is left.
            self._commits += commits
            return max(self._log_pages, 1)
        pages, moved = found
        if commits:
            added = added_pages(pages, self._log_pages, expected=commits * self._pages_a_commit)
            self._pages_a_commit = max(added / commits, 1.0)
        self._log_pages = pages
        if moved == pages:
            self._long_pages = PAGES
        return pages - moved

    async def _step(self) -> tuple[int, int] | None:
        """Copy what can be copied without anybody waiting; returns the pages of the log, and how many are copied. None
        if another process is at it."""
        if self._connection is None:
            await to_the_end(self._open())
        assert self._connection is not None
        return await to_the_end(self._connection.run(_checkpoint))

    async def _open(self) -> None:
        """Kept also when who asked for it is cancelled meanwhile: `close` closes it."""
        with translated():
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


def _checkpoint(raw: sqlite3.Connection) -> tuple[int, int] | None:
    busy, pages, moved = raw.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return None if busy or pages < 0 else (pages, moved)
