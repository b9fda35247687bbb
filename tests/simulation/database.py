"""The one database of a simulation: a SQLite file that outlives nodes, restarts, and may be replaced.

What was really committed is noted here, at the commits; the validators judge by it.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from contextvars import Context
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import TypeVar

from kinepy.drivers.base import EpochRow
from kinepy.drivers.sqlite.errors import translated
from kinepy.drivers.sqlite.memory import create_in_memory
from kinepy.drivers.sqlite.read import PREPARED, query
from kinepy.drivers.sqlite.write import UPSERTS
from kinepy.errors import StorageUnavailable
from kinepy.revision import Revision
from kinepy.sql import statements, writes
from tests.simulation.clock import SimClock
from tests.simulation.faults import ConnectionBroke, Fault, Faults
from tests.simulation.loop import SimLoop
from tests.simulation.reference import Commit, Reference
from tests.simulation.trace import Trace

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """Which kind of database is played: what differs between the two, as data."""

    name: str
    server_time: bool
    """time is the database's, not the node's"""
    late_commits: bool
    """a transaction whose connection broke may still be committed later, holding the order lock until then"""
    signals_all: bool
    """every commit wakes others, not only appends and floors"""
    servers_change: bool
    """another server may take over while nodes run; else they must be stopped before the database is exchanged"""
    tells_lineage: bool
    """a connection tells which server it leads to"""


SQLITE = Mode(
    name="sqlite",
    server_time=False,
    late_commits=False,
    signals_all=True,
    servers_change=False,
    tells_lineage=False,
)
POSTGRES = Mode(
    name="postgres",
    server_time=True,
    late_commits=True,
    signals_all=False,
    servers_change=True,
    tells_lineage=True,
)
MANAGED = replace(POSTGRES, name="postgres without lineage", tells_lineage=False)
"""A server that does not tell who it is. Of several nodes that have seen less none would notice: it has one node."""


@cache
def empty_database() -> bytes:
    """The bytes of a database as it is after its first start."""
    with (
        closing(SimLoop(Random(0), steps_max=0)) as loop,
        closing(create_in_memory(SimClock(loop))) as raw,
    ):
        return raw.serialize()


class SimDatabase:
    """Files, connections, signals and truth."""

    def __init__(
        self, folder: Path, mode: Mode, *, loop: SimLoop, faults: Faults, trace: Trace, reference: Reference
    ) -> None:
        self.mode, self.loop, self.faults, self.trace = mode, loop, faults, trace
        self.reference = reference
        self.clock = SimClock(loop)
        self.maintainer = ""
        self.dead: set[str] = set()
        self.listeners: dict[str, Callable[[], None]] = {}
        self._folder = folder
        self._connections: list[SimConnection] = []
        self._late: list[asyncio.Task[None]] = []
        self._full_until = 0.0
        self.generation = 0
        self.timeline = 1
        """which server this is: another one after a fail-over"""
        self._install(empty_database())
        self.copy()

    def _install(self, content: bytes) -> None:
        self.generation += 1
        self._path = self._folder / f"{self.generation}.db"
        self._path.write_bytes(content)
        with closing(self.connect()) as raw:
            raw.execute("PRAGMA journal_mode = WAL").fetchall()

    def connect(self) -> sqlite3.Connection:
        """A new connection to the present file."""
        raw = sqlite3.connect(self._path, isolation_level=None, timeout=0.0, check_same_thread=False)
        raw.execute("PRAGMA synchronous = OFF")
        raw.execute("PRAGMA wal_autocheckpoint = 0")
        return raw

    def open(self, node: str) -> "SimConnection":
        """A connection for a node."""
        connection = SimConnection(self, node)
        self._connections.append(connection)
        return connection

    # --- what nodes do

    def committed(self, commit: Commit, *, notify: bool) -> None:
        """A transaction has become visible to all."""
        self.reference.commit(commit)
        if commit.rows:
            told = " ".join(f"{row.revision}.{row.sub}:{row.key.decode('latin-1')}" for row in commit.rows)
            self.trace(f"{commit.node} commits {told}")
        if notify or self.mode.signals_all:
            for node, signal in list(self.listeners.items()):
                if node != commit.node:
                    self._signal(signal)

    def _signal(self, signal: Callable[[], None]) -> None:
        if self.faults.happens(Fault.LOST_SIGNAL):
            return
        delay_s = self.faults.random.random() * 2.0 if self.faults.happens(Fault.LATE_SIGNAL) else 0.0
        self.loop.call_later(delay_s, signal)

    def end_later(self, connection: "SimConnection", commit: Callable[[], None]) -> None:
        """The node has lost its connection; the transaction is ended after a while, one way or the other."""
        connection.orphaned = True
        delay_s, done = self.faults.random.random() * 3.0, self.faults.random.random() < 0.6

        async def end() -> None:
            await asyncio.sleep(delay_s)
            if connection.generation == self.generation:
                if done:
                    connection.raw.execute("COMMIT")
                    commit()
                    self.trace(f"a lost transaction of {connection.node} was committed after all")
                connection.drop()

        self._late.append(self.loop.create_task(end(), context=Context()))

    # --- what happens to it

    def kill(self, node: str) -> None:
        """A node died: its connections end, what they had not committed is undone."""
        self.dead.add(node)
        self.listeners.pop(node, None)
        if self.maintainer == node:
            self.maintainer = ""
        for connection in self._connections:
            if connection.node == node and not connection.orphaned:
                connection.drop()
        self._connections = [each for each in self._connections if not each.closed]

    def restart(self) -> None:
        """All connections are lost."""
        self.generation += 1
        self.maintainer = ""
        for connection in self._connections:
            connection.drop()
        self._connections.clear()

    def is_full(self) -> bool:
        """Whether the disk is: if so, it stays that for a while."""
        now = self.loop.time()
        if now >= self._full_until and self.faults.happens(Fault.DISK_FULL):
            self._full_until = now + self.faults.random.choice((0.0, 0.5, 3.0))
            return True
        return self.faults.active and now < self._full_until

    # --- fail-over

    def copy(self) -> None:
        """Bring the standby, or the backup, up to date."""
        self._copy = self._content(), self.reference.copy()

    def _content(self) -> bytes:
        with closing(self.connect()) as raw:
            return raw.serialize()

    def fail_over(self, *, announced: bool) -> None:
        """The copy takes over; what it lacks is lost. Where that is announced, an operator begins an epoch before
        anybody is let in; else it is for the nodes to notice."""
        content, copy = self._copy
        self._take_over(content)
        self.reference.rewind(copy, must_settle=self.mode.tells_lineage and not announced)
        self.trace(f"fail-over: revisions after {copy.newest} are lost")
        if announced:
            self._begin_epoch()
        self.copy()

    def take_over_whole(self) -> None:
        """A synchronous standby takes over: it has every commit, and nobody is to notice."""
        self._take_over(self._content())
        self.trace("fail-over: nothing is lost")

    def _take_over(self, content: bytes) -> None:
        self.restart()
        self.timeline += 1
        self._install(content)

    def _begin_epoch(self) -> None:
        reference = self.reference
        base, now_us = Revision(reference.seen + 100), self.clock.now_us()
        with closing(self.connect()) as raw:
            number = len(query(raw, PREPARED[statements.epochs], {})) + 1
            epoch = EpochRow(number, base, "fail-over", now_us)
            raw.execute(PREPARED[writes.insert_epoch].text, epoch)
            raw.execute(PREPARED[UPSERTS.raise_floor].text, (b"", base))
            if self.mode.tells_lineage:
                raw.execute(PREPARED[writes.set_lineage].text, (self.lineage,))
        self.committed(
            Commit(node="operator", now_us=now_us, floors=((b"", base),), epochs=(epoch,)), notify=False
        )
        reference.announced = base

    @property
    def lineage(self) -> str:
        """What the present server calls itself."""
        return f"server {self.timeline}"

    async def settle(self) -> None:
        """Wait until no transaction without a node is open."""
        for task in self._late:
            await task

    def close(self) -> None:
        """End everything."""
        self.restart()


class SimConnection:
    """A node's connection, as the SQLite driver's parts use one; every step is a place where faults strike."""

    def __init__(self, database: SimDatabase, node: str) -> None:
        self.raw = database.connect()
        self.node, self.generation = node, database.generation
        self.lineage = database.lineage if database.mode.tells_lineage else None
        self.orphaned = False
        self.closed = False
        self._database = database

    @property
    def usable(self) -> bool:
        """Whether another transaction may use it."""
        return not self.closed and not self.orphaned

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self.step("statement", work)

    async def step(self, name: str, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run work with a point before and after it. A connection that breaks has changed nothing."""
        try:
            await self.point(f"{name}:before")
            with translated():
                result = work(self.raw)
            await self.point(f"{name}:after")
        except ConnectionBroke:
            self.drop()
            raise StorageUnavailable("the connection broke") from None
        return result

    async def point(self, name: str) -> None:
        """A named point. Raises `ConnectionBroke`."""
        await self._database.faults.point(self.node, name)
        if self.closed or self.orphaned:
            raise ConnectionBroke

    async def close(self) -> None:
        self.drop()

    def drop(self) -> None:
        """Break it; what is open is undone."""
        if not self.closed:
            self.closed = True
            self.raw.close()
