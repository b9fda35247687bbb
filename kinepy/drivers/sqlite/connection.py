"""One connection to SQLite and where its work runs.

A hop to a connection's thread and back costs more than most of the statements themselves, so that work comes as a
function that runs all its statements in one hop.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from functools import partial
from threading import Thread
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import quote

import aiosqlite

from kinepy.drivers.sqlite.errors import translated
from kinepy.errors import BadDatabaseUrl, StorageUnavailable, StoreClosed
from kinepy.settings import Settings

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

SYNCHRONOUS: Final = ("OFF", "NORMAL", "FULL", "EXTRA")
WAL_PAGES_MAX: Final = 16_000
"""A commit that finds the write-ahead log longer moves it into the file, if nobody else has done it before: 64 MB."""

_WAL_BYTES_KEPT: Final = 64 * 1024 * 1024
_CACHE_KIB: Final = {"writer": 16_384, "reader": 4096, "checkpoint": 256, "probe": 256, "migration": 4096}


class Abandoned(StorageUnavailable):
    """The work was begun, or was going to be, and nobody waits for it any more."""

    def __init__(self) -> None:
        super().__init__("the disk does not answer")


class Connection(Protocol):
    """A connection that runs one function at a time."""

    raw: sqlite3.Connection

    async def run(self, work: Work[T]) -> T:
        """Run `work` on the connection. SQLite's errors come as the library's."""
        ...

    async def close(self) -> None:
        """Close it after the work that is under way."""
        ...


OPENING_S: Final = 2.0
"""How long to wait for whoever has the file to itself: who makes it, or is the last to close it, has for a moment."""


def connect_raw(path: str, settings: Settings, *, role: str, create: bool = False) -> sqlite3.Connection:
    """Open a file, which must exist unless `create`. Raises SQLite's errors."""
    if settings.sqlite_synchronous.upper() not in SYNCHRONOUS:
        raise BadDatabaseUrl(
            f"sqlite_synchronous is {settings.sqlite_synchronous!r}: use one of {', '.join(SYNCHRONOUS)}"
        )
    mode = "rwc" if create else "rw"
    raw = sqlite3.connect(
        f"file:{quote(path)}?mode={mode}",
        uri=True,
        isolation_level=None,
        timeout=OPENING_S if role == "writer" else settings.lock_timeout_s,
        check_same_thread=False,
        cached_statements=256,
    )
    try:
        _configure(raw, settings, role)
    except BaseException:
        raw.close()
        raise
    return raw


def _configure(raw: sqlite3.Connection, settings: Settings, role: str) -> None:
    raw.execute(f"PRAGMA synchronous = {settings.sqlite_synchronous}")
    raw.execute("PRAGMA fullfsync = 1")
    raw.execute("PRAGMA temp_store = MEMORY")
    raw.execute(f"PRAGMA cache_size = -{_CACHE_KIB[role]}")
    # Some builds overwrite all that is deleted, also on pages that need not be written for anything else.
    raw.execute("PRAGMA secure_delete = FAST")
    raw.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES_MAX}")
    raw.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES_KEPT}")
    if role in ("reader", "probe"):
        raw.execute("PRAGMA query_only = 1")


class ThreadConnection:
    """A connection with a thread of its own."""

    raw: sqlite3.Connection

    def __init__(self, *, interrupt_after_s: float | None) -> None:
        self._interrupt_after_s = interrupt_after_s
        self._connection: aiosqlite.Connection | None = None
        self._under_way: set[asyncio.Future[Any]] = set()
        self._abandoned = False

    @classmethod
    async def open(
        cls, connect: Callable[[], sqlite3.Connection], *, interrupt_after_s: float | None = None
    ) -> "ThreadConnection":
        """Open by calling `connect` in the thread. Work is broken off after `interrupt_after_s`, or never. Raises
        SQLite's errors, and `StorageUnavailable` where there can be no more threads."""
        self = cls(interrupt_after_s=interrupt_after_s)
        connection = aiosqlite.Connection(connect, 64)
        # A program that fails without closing its store must end all the same; SQLite survives that.
        thread = getattr(connection, "_thread", connection)  # it is a thread itself in older versions
        assert isinstance(thread, Thread), thread
        thread.daemon = True
        try:
            await connection
        except RuntimeError as error:
            raise StorageUnavailable(f"a connection gets no thread ({error})") from error
        self._connection, self.raw = connection, connection._conn
        return self

    async def run(self, work: Work[T]) -> T:
        connection = self._connection
        if connection is None:
            raise StoreClosed
        with translated():
            if self._interrupt_after_s is None:
                return await self._hop(connection, work)
            return await self._run_bounded(connection, work, self._interrupt_after_s)

    async def _run_bounded(self, connection: aiosqlite.Connection, work: Work[T], limit_s: float) -> T:
        interrupt = asyncio.get_running_loop().call_later(limit_s, self.raw.interrupt)
        try:
            return await self._hop(connection, work)
        except asyncio.CancelledError:
            self.raw.interrupt()
            raise
        finally:
            interrupt.cancel()

    async def _hop(self, connection: aiosqlite.Connection, work: Work[T]) -> T:
        """Run work in the connection's thread, as aiosqlite runs all its own statements: one hop for each."""
        if self._abandoned:
            raise Abandoned
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._under_way.add(future)
        connection._tx.put_nowait((future, partial(work, self.raw)))
        try:
            return await future
        finally:
            self._under_way.discard(future)

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            with translated():
                await self._hop(connection, sqlite3.Connection.close)
        except Abandoned:
            # Its thread does it when it comes back from where it hangs, if it ever does.
            connection.stop()
        except BaseException:
            connection.stop()
            raise
        else:
            await connection.close()

    def abandon(self) -> None:
        """Wait no more for what is under way, which may be done all the same; it and what follows raise `Abandoned`."""
        self._abandoned = True
        for future in self._under_way:
            if not future.done():
                future.set_exception(Abandoned())


class InlineConnection:
    """A connection that runs its work in the event loop: in memory there is nothing to wait for."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self.raw = raw
        self._closed = False

    async def run(self, work: Work[T]) -> T:
        if self._closed:
            raise StoreClosed
        with translated():
            return work(self.raw)

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.raw.close()
