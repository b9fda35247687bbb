"""Compaction deletes what nobody can read any more, and nothing else."""

import errno
import fcntl
from pathlib import Path

import pytest

from kinepy.drivers.base import Driver, LogRow
from kinepy.errors import StorageUnavailable
from kinepy.keys import KeyRange
from kinepy.revision import Revision
from tests.drivers.drivers import ALL, Log, append, opened, some_history


async def compact(driver: Driver, floor: int, *, key_range: KeyRange = ALL, after: int = 0) -> int:
    """Compact to a floor in one step."""
    async with driver.maintenance() as maintenance:
        assert maintenance is not None
        await maintenance.put_floor(b"", Revision(floor))
        deleted = await maintenance.delete_superseded(
            key_range, after=Revision(after), upto=Revision(floor), floor=Revision(floor)
        )
        await maintenance.reclaim()
    return deleted


async def all_rows(driver: Driver) -> list[LogRow]:
    async with driver.read() as tx:
        return [entry.row for entry in await tx.history(ALL, after=Revision(0), upto=Revision(99), limit=999)]


def expected_rows(log: Log, floor: int) -> list[LogRow]:
    """The rows that a read or watch at or after the floor can see, and those that its first events follow."""
    needed = {(row.key, row.revision) for row in log.state_at(floor)}
    needed |= {(row.key, row.prev_revision) for row in log.rows if row.revision >= floor}
    return [row for row in log.rows if row.revision >= floor or (row.key, row.revision) in needed]


@pytest.mark.parametrize("floor", range(1, 16))
async def test_what_can_be_read_at_the_floor_stays_and_the_rest_goes(driver: Driver, floor: int) -> None:
    log = some_history()
    await append(driver, log.rows)
    deleted = await compact(driver, floor)
    assert await all_rows(driver) == expected_rows(log, floor)
    assert deleted == len(log.rows) - len(expected_rows(log, floor))


async def test_compaction_in_small_windows_ends_the_same(driver: Driver) -> None:
    log = some_history()
    await append(driver, log.rows)
    async with driver.maintenance() as maintenance:
        assert maintenance is not None
        for after in range(13):
            await maintenance.delete_superseded(
                ALL, after=Revision(after), upto=Revision(after + 1), floor=Revision(13)
            )
    assert await all_rows(driver) == expected_rows(log, 13)


async def test_a_later_compaction_takes_what_the_first_had_to_leave(driver: Driver) -> None:
    log = some_history()
    await append(driver, log.rows)
    for floor in range(2, 16):
        await compact(driver, floor, after=floor - 2)
    assert await all_rows(driver) == expected_rows(log, 15)


async def test_the_newest_row_stays_even_as_a_tombstone(driver: Driver) -> None:
    log = Log()
    log.put(b"a")
    log.delete(b"a")
    await append(driver, log.rows)
    await compact(driver, 50)
    assert await all_rows(driver) == log.rows[1:]
    assert await driver.current() == 3


async def test_only_the_keys_of_the_range_are_compacted(driver: Driver) -> None:
    log = some_history()
    await append(driver, log.rows)
    await compact(driver, 15, key_range=KeyRange.prefix(b"a"))
    gone = set(log.rows) - set(await all_rows(driver))
    assert {row.key for row in gone} == {b"a/1", b"a-1", b"a"}


async def test_one_process_compacts_at_a_time(pair: tuple[Driver, Driver]) -> None:
    one, other = pair
    async with one.maintenance() as held:
        assert held is not None
        for driver in pair:
            async with driver.maintenance() as refused:
                assert refused is None
    async with other.maintenance() as held:
        assert held is not None


async def test_freed_pages_are_given_back(driver: Driver) -> None:
    log = Log()
    for _ in range(200):
        log.put(b"a", b"x" * 10_000)
    await append(driver, log.rows)
    async with driver.read() as tx:
        before = (await tx.size()).size_bytes
    await compact(driver, log.revision)
    async with driver.read() as tx:
        size = await tx.size()
    assert size.log_rows == 2
    assert driver.facts.server_time or size.size_bytes < before / 4


async def test_a_lock_file_that_cannot_be_opened_is_an_error_of_the_database(tmp_path: Path) -> None:
    (tmp_path / "a.db-maintenance").mkdir()
    async with opened(f"sqlite:///{tmp_path / 'a.db'}") as driver:
        with pytest.raises(StorageUnavailable, match="lock file"):
            async with driver.maintenance():
                pass


async def test_a_lock_file_that_cannot_be_locked_is_an_error_of_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    async with opened(f"sqlite:///{tmp_path / 'a.db'}") as driver:
        monkeypatch.setattr(fcntl, "flock", flock)
        with pytest.raises(StorageUnavailable, match="lock file"):
            async with driver.maintenance():
                pass
