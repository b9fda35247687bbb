"""What a write transaction promises, on every database."""

import asyncio

import pytest

from kinepy.drivers.base import LEASE_BATCH_KEPT_US, Driver, EpochRow, Head, LeaseRow
from kinepy.errors import KinepyError, StorageCorrupt, StorageUnavailable, StoreClosed
from kinepy.revision import Revision
from tests.drivers.drivers import ALL, FAST, IMPATIENT, Log, append, opened


def one_put(key: bytes = b"a", revision: int = 1) -> Log:
    log = Log(revision=revision)
    log.put(key)
    return log


async def test_a_commit_is_seen_by_the_next_read(driver: Driver) -> None:
    log = one_put()
    await append(driver, log.rows)
    assert await driver.current() == 2
    async with driver.read() as tx:
        assert list(await tx.latest(ALL, limit=None)) == log.rows


async def test_the_lock_comes_with_revision_time_and_heads(driver: Driver) -> None:
    log = one_put()
    log.put(b"b", lease=7)
    await append(driver, log.rows)
    async with driver.write([b"b", b"absent"]) as tx:
        assert (tx.revision, tx.committed_at) == (3, 3000)
        assert tx.heads_of == {b"b": Head(b"b", Revision(3), 0, Revision(3), 1, 7)}


async def test_heads_of_many_keys_are_read_under_the_lock(driver: Driver) -> None:
    log = Log()
    keys = [b"key-%03d" % n for n in range(100)]
    for key in keys:
        log.put(key)
    await append(driver, log.rows)
    async with driver.write(keys) as tx:
        assert [tx.heads_of[key].revision for key in keys] == list(range(2, 102))


async def test_the_last_row_of_a_key_decides_its_head(driver: Driver) -> None:
    log = one_put()
    log.put(b"a", b"w")
    log.put(b"b")
    log.delete(b"b")
    log.delete(b"a")
    log.put(b"a", b"again")
    await append(driver, log.rows)
    async with driver.read() as tx:
        assert [(head.key, head.revision) for head in await tx.heads(ALL, limit=10)] == [(b"a", 7)]


async def test_a_block_that_raises_changes_nothing(driver: Driver) -> None:
    with pytest.raises(RuntimeError, match="no"):
        async with driver.write() as tx:
            await tx.append(one_put().rows)
            assert await tx.current() == 2
            raise RuntimeError("no")
    assert await driver.current() == 1
    await append(driver, one_put().rows)


async def test_a_row_that_contradicts_the_log_is_refused_and_nothing_stays(driver: Driver) -> None:
    await append(driver, one_put().rows)
    log = one_put(b"b", revision=1)
    with pytest.raises(StorageCorrupt):
        await append(driver, log.rows)
    assert await driver.current() == 2


async def test_a_transaction_with_a_failed_statement_never_commits(driver: Driver) -> None:
    await append(driver, one_put().rows)
    with pytest.raises(StorageUnavailable):
        async with driver.write() as tx:
            with pytest.raises(StorageCorrupt):
                await tx.append(one_put(b"b").rows)
                await tx.current()
            await append_quietly(tx)
    assert await driver.current() == 2


async def append_quietly(tx: object) -> None:
    """Go on after a failure, as a careless caller would."""
    try:
        await tx.append(one_put(b"c", revision=2).rows)  # type: ignore[attr-defined]
    except KinepyError:
        return


async def test_a_cancelled_writer_leaves_no_transaction_open(driver: Driver) -> None:
    entered = asyncio.Event()

    async def write() -> None:
        async with driver.write() as tx:
            await tx.append(one_put().rows)
            entered.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(write())
    await entered.wait()
    task.cancel()
    await asyncio.wait((task,))
    await append(driver, one_put().rows)
    assert await driver.current() == 2


async def test_a_cancelled_wait_for_the_lock_leaves_no_transaction_open(pair: tuple[Driver, Driver]) -> None:
    one, other = pair
    async with one.write():
        task = asyncio.create_task(append(other, one_put().rows))
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.wait((task,))
    await append(other, one_put().rows)
    assert await one.current() == 2


async def test_the_lock_is_waited_for_and_then_given_up(shared_url: str) -> None:
    async with opened(shared_url, IMPATIENT) as one, opened(shared_url, IMPATIENT) as other:
        async with one.write():
            for driver in (one, other):
                with pytest.raises(StorageUnavailable):
                    async with driver.write():
                        pass
        await append(other, one_put().rows)


async def test_many_writers_in_two_processes_take_turns(pair: tuple[Driver, Driver]) -> None:
    async def write(driver: Driver, key: bytes) -> None:
        async with driver.write([key]) as tx:
            await tx.append(one_put(key, revision=tx.revision).rows)

    await asyncio.gather(*(write(pair[n % 2], b"key-%d" % n) for n in range(40)))
    async with pair[0].read() as tx:
        history = await tx.history(ALL, after=Revision(0), upto=Revision(99), limit=99)
    assert [entry.row.revision for entry in history] == list(range(2, 42))


async def test_another_process_is_woken_by_a_commit(pair: tuple[Driver, Driver]) -> None:
    one, other = pair
    while await other.wait_for_append(timeout_s=0.3):
        pass
    await append(one, one_put().rows)
    assert await other.wait_for_append(timeout_s=5)


async def test_without_a_commit_the_wait_ends_in_time(pair: tuple[Driver, Driver]) -> None:
    one, _ = pair
    while await one.wait_for_append(timeout_s=0.3):
        pass
    await append(one, one_put().rows)
    assert not await one.wait_for_append(timeout_s=0.05)


async def test_leases_are_put_replaced_and_deleted(driver: Driver) -> None:
    log = Log()
    log.put(b"b", lease=5)
    log.put(b"a", lease=5)
    log.put(b"c", lease=6)
    async with driver.write() as tx:
        await tx.append(log.rows)
        for lease in (LeaseRow(5, 10, 100), LeaseRow(6, 10, 200), LeaseRow(5, 10, 300)):
            await tx.put_lease(lease)
    async with driver.read() as tx:
        assert list(await tx.leases()) == [LeaseRow(5, 10, 300), LeaseRow(6, 10, 200)]
        assert list(await tx.expired_leases(now_us=200, limit=9)) == [LeaseRow(6, 10, 200)]
        assert list(await tx.expired_leases(now_us=300, limit=1)) == [LeaseRow(6, 10, 200)]
        assert list(await tx.lease_keys(5)) == [b"a", b"b"]
        assert await tx.lease(7) is None
    async with driver.write() as tx:
        await tx.delete_leases([5, 7])
        assert await tx.lease(5) is None


async def test_an_epoch_raises_the_current_revision(driver: Driver) -> None:
    async with driver.write() as tx:
        await tx.put_epoch(EpochRow(2, Revision(1000), "restored", 5))
        await tx.put_floor(b"", Revision(1000))
    assert await driver.current() == 1000
    async with driver.write() as tx:
        assert tx.revision == 1000
        await tx.append(one_put(revision=1000).rows)
    assert await driver.current() == 1001


async def test_a_floor_never_falls(driver: Driver) -> None:
    async with driver.write() as tx:
        await tx.put_floor(b"", Revision(5))
        await tx.put_floor(b"/events/", Revision(9))
        await tx.put_floor(b"", Revision(3))
        assert dict(await tx.floors()) == {b"": 5, b"/events/": 9}


async def test_the_time_is_the_databases(driver: Driver) -> None:
    async with driver.write() as tx:
        first = await tx.now_us()
    async with driver.read() as tx:
        assert first <= await tx.now_us() < first + 10**9


async def test_a_closed_driver_says_so(database_url: str) -> None:
    async with opened(database_url, FAST) as driver:
        await driver.close()
        for use in (driver.read, driver.write):
            with pytest.raises(StoreClosed):
                async with use():
                    pass
        with pytest.raises(StoreClosed):
            await driver.current()


async def test_many_leases_are_put_and_read_together(driver: Driver) -> None:
    made = [LeaseRow(number, 10, 1000 + number) for number in range(1, 200)]
    async with driver.write() as tx:
        for row in made:
            await tx.put_lease(row)
        assert sorted(await tx.leases_of([7, 3, 1000])) == [made[2], made[6]]
        await tx.put_lease(LeaseRow(7, 20, 9))
        await tx.delete_leases([3])
        await tx.put_lease(LeaseRow(8, 20, 9))
    async with driver.read() as tx:
        assert await tx.leases() == [
            LeaseRow(row.id, 20, 9) if row.id in (7, 8) else row for row in made if row.id != 3
        ]


async def test_a_lease_batch_is_found_and_one_that_failed_is_not(driver: Driver) -> None:
    async with driver.write() as tx:
        await tx.put_lease_batch(5, now_us=10)
    with pytest.raises(RuntimeError):
        async with driver.write() as tx:
            await tx.put_lease_batch(6, now_us=10)
            raise RuntimeError
    async with driver.read() as tx:
        assert [await tx.has_lease_batch(batch) for batch in (5, 6)] == [True, False]
    async with driver.write() as tx:
        await tx.put_lease_batch(7, now_us=11 + LEASE_BATCH_KEPT_US)
    async with driver.read() as tx:
        assert [await tx.has_lease_batch(batch) for batch in (5, 7)] == [False, True]
