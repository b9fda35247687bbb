"""Moving SQLite's write-ahead log into the file."""

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing, contextmanager
from pathlib import Path

import pytest

from kinepy.clock import SystemClock
from kinepy.drivers.sqlite.checkpoint import PAGES, Checkpointer, added_pages, rest_s
from kinepy.drivers.sqlite.connection import connect_raw
from kinepy.errors import StorageUnavailable
from kinepy.settings import Settings

PAGE = 4096
OTHER_PROCESS = """
import fcntl, sys
with open(sys.argv[1], "r+b") as shm:
    fcntl.lockf(shm, fcntl.LOCK_EX, 1, 121)  # the byte that SQLite locks in a checkpoint
    print("held", flush=True)
    sys.stdin.read()
"""


class Rested(SystemClock):
    """A clock by which every rest is over when it is looked at."""

    now = 0.0

    def monotonic(self) -> float:
        self.now += 1.0
        return self.now


class Shop:
    """A file with a long log, and what a checkpointer does to it."""

    def __init__(self, path: Path) -> None:
        self.path, self.connected, self.held_up = path, 0, 0
        self.writer = sqlite3.connect(path, isolation_level=None)
        self.writer.executescript(
            "PRAGMA journal_mode = WAL; CREATE TABLE t (v); PRAGMA wal_autocheckpoint = 0"
        )
        self.checkpointer = Checkpointer(self.connect, self.without_writes, Rested())

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

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Somebody reads what is there now."""
        with closing(sqlite3.connect(self.path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM t").fetchone()
            yield

    @contextmanager
    def copied_by_another_process(self) -> Iterator[None]:
        command = (sys.executable, "-c", OTHER_PROCESS, f"{self.path}-shm")
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            assert other.stdout is not None and other.stdout.readline() == b"held\n"
            yield
            other.communicate()


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


async def test_a_long_log_that_begins_anew_by_itself_holds_up_nobody(shop: Shop) -> None:
    for _ in range(4):
        for pages in (PAGES, 10):
            shop.write(pages=pages)
            await shop.commits()
    await shop.checkpointer.close()
    assert Path(f"{shop.path}-wal").stat().st_size < 2 * PAGES * PAGE and not shop.held_up


async def test_a_log_that_stays_long_is_emptied_while_nothing_is_written(shop: Shop) -> None:
    shop.write(pages=PAGES)
    with shop.reading():
        # All of it is copied, but it cannot begin anew while somebody reads from it.
        await shop.commits()
        shop.write(pages=1)
    await shop.commits()
    assert shop.held_up == 1
    size = Path(f"{shop.path}-wal").stat().st_size
    shop.write(pages=PAGES // 2)
    await shop.commits()
    await shop.checkpointer.close()
    assert Path(f"{shop.path}-wal").stat().st_size == size and shop.held_up == 1


async def test_who_reads_an_old_state_lets_nobody_be_held_up_again_and_again(shop: Shop) -> None:
    with shop.reading():
        shop.write(pages=PAGES)
        for _ in range(5):
            await shop.commits()
        assert shop.held_up == 1
    for _ in range(3):
        shop.write(pages=1)
        await shop.commits()
    await shop.checkpointer.close()
    assert shop.held_up == 1, "it has begun anew as soon as nobody read the old state"


async def test_what_another_process_is_copying_is_left_and_nothing_is_learned_of_it(shop: Shop) -> None:
    shop.write(pages=1000)
    await shop.commits(100)
    learned = shop.checkpointer._pages_a_commit
    shop.write(pages=500)
    size = shop.path.stat().st_size
    with shop.copied_by_another_process():
        await shop.commits(50)
        await shop.checkpointer.move()
    assert shop.checkpointer._pages_a_commit == learned > 9
    assert shop.checkpointer._log_pages > 1000
    assert shop.path.stat().st_size == size
    await shop.commits(1)
    await shop.checkpointer.close()
    assert shop.path.stat().st_size >= size + 500 * PAGE, "the commits before count too"


async def test_a_file_that_cannot_be_opened_is_an_error_of_the_database(shop: Shop) -> None:
    path, shop.path = shop.path, shop.path / "nowhere"
    with pytest.raises(StorageUnavailable, match="cannot be opened"):
        await shop.checkpointer.move()
    shop.path = path
    await shop.commits()
    await shop.checkpointer.close()
    assert shop.connected == 2


class Told(Checkpointer):
    """Is told what it would find, and never finds reason to hold up the writes."""

    def __init__(self) -> None:
        super().__init__(lambda: sqlite3.connect(":memory:"), self.without_writes, Rested())
        self.found: list[tuple[int, int] | None] = []

    def without_writes(self) -> AbstractAsyncContextManager[None]:
        raise NotImplementedError

    async def _step(self) -> tuple[int, int] | None:
        return self.found.pop()


@pytest.mark.parametrize(
    "looks",
    [
        pytest.param([(100, 400, 4.0), (100, 900, 5.0), (20, 910, 1.0)], id="it goes on"),
        pytest.param([(100, 2000, 20.0), (100, 2100, 21.0)], id="it began anew and is longer"),
        pytest.param(
            [(1000, 2600, 2.6), (100, 2650, 1.0), (83, 2075, 25.0)], id="it began anew and is shorter"
        ),
        pytest.param([(100, 500, 5.0), (90, None, 5.0), (10, 900, 4.0)], id="another process was at it"),
    ],
)
async def test_the_pages_of_a_commit_are_learned(looks: Sequence[tuple[int, int | None, float]]) -> None:
    told = Told()
    for commits, pages, learned in looks:
        told.found.append(None if pages is None else (pages, pages))
        for _ in range(commits):
            told.committed()
        await told.at_rest()
        assert not told.found and told._pages_a_commit == learned


@pytest.mark.parametrize(
    ("pages", "before", "expected", "added"),
    [(50, 0, 9.0, 50), (150, 100, 60.0, 50), (150, 100, 140.0, 150), (40, 100, 1.0, 40), (100, 100, 3.0, 0)],
)
def test_a_log_grows_or_begins_anew(pages: int, before: int, expected: float, added: int) -> None:
    assert added_pages(pages, before, expected=expected) == added


@pytest.mark.parametrize(
    ("took_s", "expected_s"),
    [(0.0, 0.0), (0.001, 0.003), (0.004, 0.012), (0.01, 0.012), (0.024, 0.012), (0.1, 0.05), (2.0, 1.0)],
)
def test_rests_are_short_but_on_a_slow_disk(took_s: float, expected_s: float) -> None:
    assert rest_s(took_s) == pytest.approx(expected_s)
