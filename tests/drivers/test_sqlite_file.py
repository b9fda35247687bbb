"""Files that go away, fill up, or are not what they should be."""

import asyncio
import os
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import Thread, Timer

import pytest

from kinepy.clock import SystemClock
from kinepy.drivers import open_driver
from kinepy.drivers.sqlite.connection import ThreadConnection
from kinepy.drivers.sqlite.driver import FileDriver
from kinepy.errors import (
    BadDatabaseUrl,
    DatabaseNotKinepy,
    DatabaseReadOnly,
    DatabaseUnreachable,
    DatabaseUnusable,
    StorageUnavailable,
)
from kinepy.migrate import migrate
from kinepy.revision import Revision
from kinepy.settings import Settings
from tests.drivers.drivers import ALL, FAST, Log, append, opened

PAGE = 4096


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kinepy.db"


def url(path: Path) -> str:
    return f"sqlite:///{path}"


def one_put(revision: int = 1) -> Log:
    log = Log(revision=revision)
    log.put(b"a")
    return log


async def fails_everywhere(driver: FileDriver) -> None:
    """No use of the driver works any more."""
    with pytest.raises(StorageUnavailable, match="deleted or replaced"):
        await append(driver, one_put(2).rows)
    with pytest.raises(StorageUnavailable, match="deleted or replaced"):
        await driver.current()
    with pytest.raises(StorageUnavailable, match="deleted or replaced"):
        async with driver.read():
            pass
    with pytest.raises(StorageUnavailable, match="deleted or replaced"):
        await driver.wait_for_append(timeout_s=0.1)


@pytest.mark.parametrize("suffix", ["", "-wal"])
async def test_a_deleted_file_is_noticed_and_not_made_again(path: Path, suffix: str) -> None:
    async with opened(url(path)) as driver:
        await append(driver, one_put().rows)
        os.unlink(f"{path}{suffix}")
        await fails_everywhere(driver)  # type: ignore[arg-type]
        assert not Path(f"{path}{suffix}").exists()


async def test_a_replaced_file_is_noticed_and_left_alone(path: Path) -> None:
    async with opened(url(path)) as driver:
        await append(driver, one_put().rows)
        path.rename(f"{path}.old")
        path.write_bytes(b"another file")
        await fails_everywhere(driver)  # type: ignore[arg-type]
        # Putting the old file back does not help: what was opened since may have been anything.
        os.replace(f"{path}.old", path)
        await fails_everywhere(driver)  # type: ignore[arg-type]


async def test_a_file_deleted_inside_a_transaction_is_noticed_before_it_is_acknowledged(path: Path) -> None:
    async with opened(url(path)) as driver:
        with pytest.raises(StorageUnavailable, match="deleted or replaced"):
            async with driver.write() as tx:
                await tx.append(one_put().rows)
                path.unlink()


async def test_a_full_disk_refuses_the_write_and_nothing_else(path: Path) -> None:
    async with opened(url(path)) as driver:
        assert isinstance(driver, FileDriver)
        driver._writer.raw.execute("PRAGMA max_page_count = 40")
        log = Log()
        log.put(b"big", b"x" * 1_000_000)
        with pytest.raises(StorageUnavailable, match="full"):
            await append(driver, log.rows)
        assert await driver.current() == 1
        await append(driver, one_put().rows)
        assert await driver.current() == 2


async def open_at(path: Path, settings: Settings = FAST) -> None:
    """Migrate and open, as a program does at its start."""
    async with opened(url(path), settings):
        pass


async def refuses(path: Path, error: type[DatabaseUnusable], text: str) -> None:
    """Opening fails with one line, and the file stays as it was."""
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(error, match=text) as raised:
        await open_at(path)
    assert "\n" not in str(raised.value)
    if before is not None:
        assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ([path.name] if path.exists() else [])


@pytest.mark.parametrize("content", [b"hello", b"x" * 10_000, b"SQLite format 3\x00" + b"\xff" * 5000])
async def test_a_file_that_is_no_database_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    await refuses(path, DatabaseNotKinepy, "not a usable kinepy database")


async def test_another_programs_database_is_refused(path: Path) -> None:
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("CREATE TABLE users (id INTEGER)")
        raw.commit()
    await refuses(path, DatabaseNotKinepy, "something else than a kinepy store")


async def test_a_file_cut_in_half_is_refused(path: Path) -> None:
    await open_at(path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(DatabaseNotKinepy, match="not a usable kinepy database"):
        await open_at(path)


async def test_a_read_only_file_is_refused(path: Path) -> None:
    await open_at(path)
    path.chmod(0o444)
    await refuses(path, DatabaseReadOnly, "read-only")


async def test_a_folder_is_refused(path: Path) -> None:
    path.mkdir()
    with pytest.raises(DatabaseUnreachable, match="folder"):
        await open_at(path)


async def test_a_missing_folder_is_refused(path: Path) -> None:
    with pytest.raises(DatabaseUnreachable, match="does not exist"):
        await open_at(path / "kinepy.db")


async def test_opening_never_makes_a_file(path: Path) -> None:
    with pytest.raises(DatabaseUnreachable, match="does not exist"):
        await open_driver(url(path), FAST, SystemClock())
    assert not path.exists()


async def test_a_wrong_setting_is_named(path: Path) -> None:
    with pytest.raises(BadDatabaseUrl, match="sqlite_synchronous"):
        await open_at(path, Settings(sqlite_synchronous="SOMETIMES"))


async def test_an_empty_file_becomes_a_database(path: Path) -> None:
    path.touch()
    assert await migrate(url(path))
    await open_at(path)


async def test_the_file_is_made_to_give_room_back_and_to_be_durable(path: Path) -> None:
    async with opened(url(path), Settings()) as driver:
        assert isinstance(driver, FileDriver)
        raw = driver._writer.raw
        found = {
            name: raw.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "auto_vacuum", "synchronous")
        }
    assert found == {"journal_mode": "wal", "auto_vacuum": 2, "synchronous": 2}


async def test_an_odd_path_is_taken_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a b%20#c.db"
    await open_at(path)
    assert path.exists()


async def test_a_backup_is_used_with_a_write_ahead_log(path: Path) -> None:
    async with opened(url(path)) as driver:
        await append(driver, one_put().rows)
        with closing(sqlite3.connect(path)) as raw:
            raw.execute(f"VACUUM INTO '{path}.backup'")
    async with opened(f"{url(path)}.backup") as driver:
        await append(driver, one_put(2).rows)
        assert Path(f"{path}.backup-wal").exists()
        assert await driver.current() == 3


async def test_the_log_is_moved_beside_the_commits_and_begun_anew(tmp_path: Path) -> None:
    async with opened(f"sqlite:///{tmp_path / 'a.db'}") as driver:
        log, rows = Log(), 0
        for _ in range(300):
            for _ in range(20):
                log.put(b"a", b"x" * 5000)
            await append(driver, log.rows[rows:])
            rows = len(log.rows)
        async with driver.maintenance() as maintenance:
            assert maintenance is not None
            await maintenance.reclaim()
        # Thirty megabytes went through a log of half as much, which SQLite itself would not have moved yet.
        assert os.path.getsize(tmp_path / "a.db-wal") < 25_000_000
        assert os.path.getsize(tmp_path / "a.db") > 28_000_000


async def test_a_checkpoint_that_is_cancelled_while_it_connects_leaves_nothing_open(path: Path) -> None:
    async with opened(url(path)) as driver:
        checkpointer = driver._checkpointer  # type: ignore[attr-defined]  # of SQLite's driver
        moving = asyncio.create_task(checkpointer.move())
        await asyncio.sleep(0)
        moving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await moving
        connection = checkpointer._connection
        assert connection is not None
    assert connection._connection is None, "closed with the driver"


async def test_no_checkpoint_begins_beside_a_deletion(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log()
    for _ in range(60):
        log.put(b"a", b"v" * 2000)
    end, deleted_before = Revision(log.revision), list[bool]()
    async with opened(url(path)) as driver, driver.maintenance() as maintenance:
        assert isinstance(driver, FileDriver) and maintenance is not None
        await append(driver, log.rows)
        checkpointer = driver._checkpointer
        step = checkpointer._step

        async def look_and_step() -> tuple[int, int] | None:
            deleted_before.append(deletion.done())
            return await step()

        monkeypatch.setattr(checkpointer, "_step", look_and_step)

        async def delete() -> int:
            async with maintenance.beside_no_checkpoint():
                return await maintenance.delete_superseded(ALL, after=Revision(0), upto=end, floor=end)

        async with driver.write():
            deletion = asyncio.create_task(delete())
            await asyncio.sleep(0)  # now it waits for the order lock
            for _ in range(10_000):
                checkpointer.committed()
        assert await deletion == 58
        await checkpointer.at_rest()
    assert deleted_before == [True]


async def test_a_connection_that_gets_no_thread_is_an_error_of_the_database(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def start(thread: Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Thread, "start", start)
    with pytest.raises(StorageUnavailable, match="no thread"):
        await ThreadConnection.open(partial(sqlite3.connect, ":memory:"))


async def test_a_file_that_another_process_has_to_itself_for_a_moment_is_waited_for(path: Path) -> None:
    await migrate(url(path))
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    other.execute("COMMIT")
    with pytest.raises(sqlite3.OperationalError), closing(sqlite3.connect(path, timeout=0)) as raw:
        raw.execute("SELECT * FROM store")
    release = Timer(0.2, other.close)
    release.start()
    await (await open_driver(url(path), FAST, clock=SystemClock())).close()
    release.join()


async def test_pages_that_become_free_are_not_written(path: Path) -> None:
    log = Log()
    for _ in range(600):
        log.put(b"a", b"v" * 2000)
    async with opened(url(path)) as driver, driver.maintenance() as maintenance:
        assert maintenance is not None
        await append(driver, log.rows)
        wal = Path(f"{path}-wal")
        before = wal.stat().st_size
        end = Revision(log.revision)
        await maintenance.delete_superseded(ALL, after=Revision(0), upto=end, floor=end)
        written = (wal.stat().st_size - before) // PAGE
        with closing(sqlite3.connect(path)) as raw:
            (free,) = raw.execute("PRAGMA freelist_count").fetchone()
    assert free > 200 and written < free / 2
