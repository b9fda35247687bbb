"""The checker finds every kind of damage, and nothing in what is sound."""

import pytest

from kinepy.check import CheckReport, check
from kinepy.drivers.base import Driver, EpochRow
from kinepy.drivers.sqlite.driver import SqliteDriver
from kinepy.revision import Revision
from tests.drivers.drivers import ALL, append, opened, some_history


async def test_a_sound_log_is_clean(driver: Driver) -> None:
    log = some_history()
    await append(driver, log.rows)
    report = await check(driver)
    assert (report.problems, report.clean) == ([], True)
    assert (report.current_revision, report.log_rows, report.keys) == (15, len(log.rows), 7)


async def test_an_empty_database_is_clean(driver: Driver) -> None:
    assert (await check(driver)).clean


@pytest.mark.parametrize("floor", range(1, 16))
async def test_a_compacted_log_is_clean(driver: Driver, floor: int) -> None:
    await append(driver, some_history().rows)
    async with driver.maintenance() as maintenance:
        assert maintenance is not None
        await maintenance.put_floor(b"", Revision(floor))
        await maintenance.delete_superseded(
            ALL, after=Revision(0), upto=Revision(floor), floor=Revision(floor)
        )
    assert (await check(driver)).problems == []


async def test_a_new_epoch_is_clean(driver: Driver) -> None:
    log = some_history()
    await append(driver, log.rows)
    async with driver.write() as tx:
        await tx.put_epoch(EpochRow(2, Revision(1000), "restored", 5))
    assert (await check(driver)).problems == []
    log.revision = 1000
    await append(driver, [log.put(b"a", b"after")])
    assert (await check(driver)).problems == []


async def test_progress_is_told(driver: Driver) -> None:
    await append(driver, some_history().rows)
    told: list[tuple[int, int]] = []
    await check(driver, progress=lambda done, current: told.append((done, current)))
    assert told == [(15, 15)]


DAMAGE = [
    ("a hole in the log", "DELETE FROM log WHERE revision = 9", "missing"),
    ("a row lost from a revision", "DELETE FROM log WHERE revision = 10 AND sub = 1", "follows sub 0"),
    (
        "a missing predecessor",
        "DELETE FROM log WHERE key = x'61' AND revision = 2",
        "predecessor 2 is missing",
    ),
    ("a wrong pointer", "UPDATE log SET prev_revision = 2 WHERE revision = 13", "prev_revision is 2"),
    ("a wrong version", "UPDATE log SET version = 9 WHERE revision = 8", "version is 9, not 2"),
    (
        "a wrong creation",
        "UPDATE log SET create_revision = 7 WHERE revision = 8",
        "create_revision is 7, not 3",
    ),
    (
        "a create in the middle",
        "UPDATE log SET version = 2 WHERE revision = 11",
        "creates the key with version 2",
    ),
    ("a tombstone of nothing", "UPDATE log SET value = NULL WHERE revision = 4", "tombstone of nothing"),
    (
        "time that runs back",
        "UPDATE log SET committed_at = 1 WHERE revision = 8",
        "before the row that precedes",
    ),
    ("a head too many", "INSERT INTO head VALUES (x'7a', 2, 0, 2, 1, NULL)", "the log says None"),
    ("a head too few", "DELETE FROM head WHERE key = x'61'", "lacks 1 key"),
    ("a wrong head", "UPDATE head SET version = 5 WHERE key = x'61'", "the log says"),
    ("a floor in the future", "INSERT INTO floor VALUES (x'', 99)", "beyond the current revision"),
    ("no epoch", "DELETE FROM epoch", "no epoch"),
    ("no store", "DELETE FROM store", "store is empty"),
]


@pytest.mark.parametrize(("name", "damage", "text"), DAMAGE, ids=[entry[0] for entry in DAMAGE])
async def test_damage_is_found(name: str, damage: str, text: str) -> None:
    async with opened("sqlite:///:memory:") as driver:
        assert isinstance(driver, SqliteDriver)
        await append(driver, some_history().rows)
        driver._writer.raw.execute(damage)
        report = await check(driver)
    assert not report.clean
    assert any(text in problem for problem in report.problems), report.problems


async def test_a_lease_that_is_gone_is_only_a_warning(driver: Driver) -> None:
    log = some_history()
    log.put(b"leased", lease=5)
    await append(driver, log.rows)
    report = await check(driver)
    assert report.clean
    assert "lease 5" in report.warnings[0]


def test_the_kept_texts_are_bounded_and_the_count_is_not() -> None:
    report = CheckReport()
    for n in range(1000):
        report.problem(str(n))
        report.warn(str(n))
    assert (len(report.problems), report.problem_count) == (100, 1000)
    assert (len(report.warnings), report.warning_count) == (100, 1000)
