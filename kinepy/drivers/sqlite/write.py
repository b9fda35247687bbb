"""Writing to SQLite: `BEGIN IMMEDIATE` is the order lock.

A batch takes two hops: one takes the lock and reads, the other inserts and commits.
"""

import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from kinepy.clock import Clock
from kinepy.drivers.base import LEASE_BATCH_KEPT_US, EpochRow, Head, LeaseRow, LogRow
from kinepy.drivers.heads import heads_after
from kinepy.drivers.sqlite.connection import Abandoned, Connection
from kinepy.drivers.sqlite.errors import SURELY_UNDONE_AT_COMMIT, primary_name
from kinepy.drivers.sqlite.identity import FileIdentity
from kinepy.drivers.sqlite.queue import Queue
from kinepy.drivers.sqlite.read import PREPARED, SqliteReads, heads_of, leave, query
from kinepy.errors import StorageUnavailable, WriteOutcomeUnknown
from kinepy.revision import Revision
from kinepy.sql import statements, writes

UPSERTS: Final = writes.UPSERTS["sqlite"]
_PAUSE_FIRST_S: Final = 0.0002
_PAUSE_MAX_S: Final = 0.005
_PAUSE_GROWTH: Final = 1.1

Step = Callable[[sqlite3.Connection], object]


def begin_immediate(
    raw: sqlite3.Connection, queue: Queue, *, timeout_s: float, abandoned: threading.Event
) -> None:
    """Take the lock in turn, or raise `StorageUnavailable` when others hold it for `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    try:
        queue.enter(deadline=deadline, abandoned=abandoned)
        _ask_for_lock(raw, deadline, timeout_s=timeout_s, abandoned=abandoned)
    finally:
        queue.leave()


def _ask_for_lock(
    raw: sqlite3.Connection, deadline: float, *, timeout_s: float, abandoned: threading.Event
) -> None:
    """SQLite's own wait grows to a tenth of a second, in which nobody would have the lock."""
    pause = _PAUSE_FIRST_S
    while True:
        try:
            raw.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if primary_name(error) != "SQLITE_BUSY":
                raise
        else:
            return
        if abandoned.is_set() or time.monotonic() >= deadline:
            raise StorageUnavailable(f"another process held the write lock for {timeout_s:g} s")
        time.sleep(pause)
        pause = min(pause * _PAUSE_GROWTH, _PAUSE_MAX_S)


def commit(raw: sqlite3.Connection, identity: FileIdentity) -> None:
    """Commit, unless the file is gone. Raises with the transaction undone, or `WriteOutcomeUnknown`."""
    identity.check()
    try:
        raw.execute("COMMIT")
    except sqlite3.Error as error:
        if primary_name(error) in SURELY_UNDONE_AT_COMMIT:
            raise
        raise WriteOutcomeUnknown(str(error)) from error
    # A file that went away during the commit took the commit with it.
    identity.check()


class SqliteWrite(SqliteReads):
    """A write transaction."""

    revision: Revision
    committed_at: int
    heads_of: Mapping[bytes, Head]
    lineage: str | None = None

    def __init__(
        self,
        connection: Connection,
        clock: Clock,
        *,
        identity: FileIdentity,
        queue: Queue,
        lock_timeout_s: float,
    ) -> None:
        super().__init__(connection, clock)
        self._identity, self._queue, self._lock_timeout_s = identity, queue, lock_timeout_s
        self._abandoned = threading.Event()
        self._pending: list[Step] = []
        self._broken = False

    async def begin(self, keys: Collection[bytes]) -> None:
        """Take the lock and read what every batch needs."""
        wanted = tuple(keys)

        def work(raw: sqlite3.Connection) -> None:
            # A ROLLBACK that failed, on a disk that failed, would stand in the way of all that follow.
            leave(raw)
            begin_immediate(raw, self._queue, timeout_s=self._lock_timeout_s, abandoned=self._abandoned)
            self._identity.check()
            revision, self.committed_at = query(raw, PREPARED[statements.position], {})[0]
            self.revision = Revision(revision)
            self.heads_of = heads_of(raw, wanted)

        await self._connection.run(work)

    async def commit(self) -> None:
        """Do what is pending and commit. Undoes everything when it raises."""

        def work(raw: sqlite3.Connection) -> None:
            try:
                self._enter(raw)
                commit(raw, self._identity)
            finally:
                leave(raw)

        try:
            await self._connection.run(work)
        except Abandoned as error:
            raise WriteOutcomeUnknown(error.reason) from error

    async def rollback(self) -> None:
        """Undo everything."""
        await self._connection.run(leave)

    def abandon(self) -> None:
        """Stop waiting for the lock."""
        self._abandoned.set()

    def _enter(self, raw: sqlite3.Connection) -> None:
        if self._broken:
            raise StorageUnavailable("an earlier statement of the transaction failed")
        pending, self._pending = self._pending, []
        try:
            for step in pending:
                step(raw)
        except BaseException:
            self._broken = True
            raise

    async def append(self, rows: Sequence[LogRow], *, notify: bool = True) -> None:
        """Rows go in at the next read or the commit. Other processes look at the file: nothing to notify."""
        put, gone = heads_after(rows)

        def step(raw: sqlite3.Connection) -> None:
            raw.executemany(PREPARED[writes.insert_log].text, rows)
            if put:
                raw.executemany(PREPARED[UPSERTS.put_head].text, put)
            if gone:
                raw.executemany(PREPARED[writes.delete_head].text, [(key,) for key in gone])

        self._pending.append(step)

    async def put_lease(self, lease: LeaseRow) -> None:
        self._later(UPSERTS.put_lease, [lease])

    async def delete_leases(self, leases: Collection[int]) -> None:
        self._later(writes.delete_lease, [(lease,) for lease in leases])

    async def put_lease_batch(self, batch: int, *, now_us: int) -> None:
        self._later(writes.insert_lease_batch, [(batch, now_us)])
        self._later(writes.forget_lease_batches, [(now_us - LEASE_BATCH_KEPT_US,)])

    async def put_lineage(self, lineage: str) -> None:
        self._later(writes.set_lineage, [(lineage,)])

    async def put_epoch(self, epoch: EpochRow) -> None:
        self._later(writes.insert_epoch, [epoch])

    async def put_floor(self, prefix: bytes, revision: Revision) -> None:
        self._later(UPSERTS.raise_floor, [(prefix, revision)])

    def _later(self, statement: Any, rows: Sequence[tuple[Any, ...]]) -> None:
        text = PREPARED[statement].text
        self._pending.append(lambda raw: raw.executemany(text, rows))
