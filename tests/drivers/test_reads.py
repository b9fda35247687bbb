"""What a snapshot answers, on every database."""

from itertools import accumulate

import pytest

from kinepy.drivers.base import Driver
from kinepy.keys import KeyRange
from kinepy.revision import Revision
from tests.drivers.drivers import ALL, Log, append, some_history

RANGES = [
    ALL,
    KeyRange.prefix(b"a"),
    KeyRange.prefix(b"c/"),
    KeyRange.single(b"b"),
    KeyRange.single(b"c/3"),
    KeyRange(b"a/", None),
    KeyRange(b"", b"b"),
    KeyRange(b"b", b"a"),
]


@pytest.fixture
async def log(driver: Driver) -> Log:
    log = some_history()
    await append(driver, log.rows)
    return log


@pytest.mark.parametrize("key_range", RANGES, ids=str)
async def test_every_past_state_is_that_of_the_log(driver: Driver, log: Log, key_range: KeyRange) -> None:
    async with driver.read() as tx:
        for at in range(1, log.revision + 1):
            expected = [row for row in log.state_at(at) if row.key in key_range]
            found = await tx.state_at(key_range, at=Revision(at), limit=None, keys_only=False)
            assert list(found) == expected
            assert await tx.count_at(key_range, at=Revision(at)) == len(expected)


async def test_a_limit_cuts_a_past_state_in_key_order(driver: Driver, log: Log) -> None:
    async with driver.read() as tx:
        for limit in (0, 1, 3, 100):
            found = await tx.state_at(ALL, at=Revision(9), limit=limit, keys_only=False)
            assert list(found) == log.state_at(9)[:limit]


async def test_keys_only_leaves_the_values_out(driver: Driver, log: Log) -> None:
    async with driver.read() as tx:
        found = await tx.state_at(ALL, at=Revision(9), limit=None, keys_only=True)
        one = await tx.state_at(KeyRange.single(b"a"), at=Revision(9), limit=None, keys_only=True)
    assert list(found) == [row._replace(value=b"") for row in log.state_at(9)]
    assert [row.value for row in one] == [b""]


@pytest.mark.parametrize("key_range", RANGES, ids=str)
async def test_the_latest_rows_are_the_newest_state(driver: Driver, log: Log, key_range: KeyRange) -> None:
    expected = [row for row in log.state_at(log.revision) if row.key in key_range]
    async with driver.read() as tx:
        assert list(await tx.latest(key_range, limit=None)) == expected
        assert list(await tx.latest(key_range, limit=2)) == expected[:2]
        heads = await tx.heads(key_range, limit=100)
        assert [(head.key, head.revision, head.sub) for head in heads] == [
            (row.key, row.revision, row.sub) for row in expected
        ]
        assert await tx.count_at(key_range, at=None) == len(expected)


async def test_rows_are_found_by_key_and_by_position(driver: Driver, log: Log) -> None:
    keys = [row.key for row in log.rows] + [b"absent"] + [b"k%d" % n for n in range(100)]
    async with driver.read() as tx:
        assert await tx.latest_of(keys) == {row.key: row for row in log.state_at(log.revision)}
        places = [(row.revision, row.sub) for row in log.rows]
        found = await tx.rows_of([(Revision(999), 0), *reversed(places)], bytes_max=1_000_000)
        assert list(reversed(found)) == log.rows


@pytest.mark.parametrize("bytes_max", [1, 3, 6, 7, 1000])
async def test_rows_end_with_the_one_that_reaches_the_bytes(driver: Driver, log: Log, bytes_max: int) -> None:
    rows = [row for row in log.rows if row.revision != 3]
    sizes = list(accumulate(len(row.value or b"") for row in rows))
    count = next((n for n, size in enumerate(sizes, 1) if size >= bytes_max), len(rows))
    places = [(Revision(999), 0), *((row.revision, row.sub) for row in rows)]
    async with driver.read() as tx:
        assert await tx.rows_of(places, bytes_max=bytes_max) == rows[:count]


@pytest.mark.parametrize("limit", [1, 2, 4, 100])
async def test_history_never_splits_a_revision(driver: Driver, log: Log, limit: int) -> None:
    after, found = Revision(0), []
    async with driver.read() as tx:
        while page := await tx.history(ALL, after=after, upto=Revision(99), limit=limit):
            after = page[-1].row.revision
            found += [entry.row for entry in page]
            assert [row for row in log.rows if row.revision <= after] == found
    assert found == log.rows


async def test_history_brings_the_row_that_each_follows(driver: Driver, log: Log) -> None:
    async with driver.read() as tx:
        page = await tx.history(ALL, after=Revision(0), upto=Revision(99), limit=100)
    by_place = {(row.key, row.revision): row for row in log.rows}
    assert all(entry.previous == by_place.get((entry.row.key, entry.row.prev_revision)) for entry in page)


@pytest.mark.parametrize("key_range", RANGES, ids=str)
async def test_history_of_a_range_between_revisions(driver: Driver, log: Log, key_range: KeyRange) -> None:
    async with driver.read() as tx:
        page = await tx.history(key_range, after=Revision(4), upto=Revision(11), limit=100)
    expected = [row for row in log.rows if 4 < row.revision <= 11 and row.key in key_range]
    assert [entry.row for entry in page] == expected


async def test_a_batch_is_found_by_its_number(driver: Driver) -> None:
    log = Log(batch=2**62)
    log.put(b"a")
    log.put(b"b")
    await append(driver, log.rows)
    async with driver.read() as tx:
        assert await tx.batch(2**62) == (2, 3)
        assert await tx.batch(5) is None


async def test_time_leads_to_the_newest_revision_before_it(driver: Driver, log: Log) -> None:
    async with driver.read() as tx:
        assert await tx.revision_before(committed_at=1999) is None
        assert await tx.revision_before(committed_at=2000) == 2
        assert await tx.revision_before(committed_at=5500) == 5
        assert await tx.revision_before(committed_at=10**15) == log.revision


async def test_an_empty_database_stands_at_revision_one(driver: Driver) -> None:
    async with driver.read() as tx:
        assert await tx.current() == 1 == await driver.current()
        assert [epoch[:2] for epoch in await tx.epochs()] == [(1, 1)]
        assert dict(await tx.floors()) == {}
        assert len(await tx.store_id()) == 36
        assert await tx.revision_before(committed_at=10**15) is None
        size = await tx.size()
        assert (size.log_rows, size.keys, size.leases) == (0, 0, 0)
        assert size.size_bytes > 0


async def test_a_snapshot_stays_as_it_was_when_others_commit(pair: tuple[Driver, Driver]) -> None:
    log = Log()
    log.put(b"a")
    reader, writer = pair
    async with reader.read() as tx:
        assert await tx.current() == 1
        await append(writer, log.rows)
        assert await tx.current() == 1
        assert await tx.latest(ALL, limit=None) == []
    assert await reader.current() == 2
