"""Moving SQLite's write-ahead log into the file."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from kinepy.clock import SystemClock
from kinepy.drivers.sqlite.checkpoint import PAGES, Checkpointer
from kinepy.drivers.sqlite.connection import connect_raw
from kinepy.settings import Settings

PAGE = 4096


class Shop:
    """A file with a long log, and what a checkpointer does to it."""

    def __init__(self, path: Path) -> None:
        self.path, self.connected, self.held_up = path, 0, 0
        self.writer = sqlite3.connect(path, isolation_level=None)
        self.writer.executescript(
            "PRAGMA journal_mode = WAL; CREATE TABLE t (v); PRAGMA wal_autocheckpoint = 0"
        )
        self.checkpointer = Checkpointer(self.connect, self.without_writes, SystemClock())

    def connect(self) -> sqlite3.Connection:
        self.connected += 1
        return connect_raw(str(self.path), Settings(), role="checkpoint")

    @asynccontextmanager
    async def without_writes(self) -> AsyncIterator[None]:
        self.held_up += 1
        yield

    def write(self, *, pages: int) -> None:
        self.writer.execute("INSERT INTO t VALUES (zeroblob(?))", (pages * PAGE,))

    async def commits(self, count: int = 1000) -> None:
        """Tell of commits, enough to have something done, and wait for its end."""
        for _ in range(count):
            self.checkpointer.committed()
        await self.checkpointer.at_rest()


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path / "kinepy.db")
    with closing(made.writer):
        yield made


async def test_those_who_want_it_at_once_do_it_in_turn_by_one_connection(shop: Shop) -> None:
    shop.write(pages=10)
    await asyncio.gather(shop.commits(), shop.checkpointer.move(), shop.checkpointer.move())
    await shop.checkpointer.close()
    assert shop.connected == 1


async def test_a_short_log_is_copied_and_holds_up_nobody(shop: Shop) -> None:
    shop.write(pages=100)
    size = shop.path.stat().st_size
    await shop.commits()
    await shop.checkpointer.close()
    assert shop.path.stat().st_size >= size + 100 * PAGE and not shop.held_up


async def test_a_long_log_begins_anew(shop: Shop) -> None:
    wal = Path(f"{shop.path}-wal")
    for _ in range(4):
        shop.write(pages=PAGES)
        await shop.commits()
        await shop.commits()
    await shop.checkpointer.close()
    assert wal.stat().st_size < 3 * PAGES * PAGE and shop.held_up


async def test_who_reads_an_old_state_lets_nobody_be_held_up_again_and_again(shop: Shop) -> None:
    with closing(sqlite3.connect(shop.path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM t").fetchone()
        shop.write(pages=PAGES)
        for _ in range(5):
            await shop.commits()
        assert shop.held_up == 1
    for _ in range(2):
        shop.write(pages=1)
        await shop.commits()
    await shop.checkpointer.close()
    assert shop.held_up == 2
