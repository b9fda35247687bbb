"""P4: what was acknowledged stays. (That it survives `kill -9` is shown on real processes.)"""

import asyncio

import pytest

from kinepy import Store, open_store
from kinepy.errors import StoreClosed
from tests.contract.stores import ALL, checked_store


async def test_acknowledged_writes_are_there_after_a_restart(durable_url: str) -> None:
    async with checked_store(durable_url) as store:
        written = await asyncio.gather(*(store.create(b"%03d" % n, b"%d" % n) for n in range(100)))
    async with checked_store(durable_url) as store:
        assert sorted(written, key=lambda kv: kv.key) == list((await store.range(ALL)).items)


async def test_a_cancelled_caller_does_not_cancel_the_batch(store: Store) -> None:
    writes = [asyncio.ensure_future(store.create(b"%d" % n, b"")) for n in range(20)]
    await asyncio.sleep(0)
    writes[0].cancel()
    await asyncio.gather(*writes[1:])
    assert (await store.count(ALL)).count >= 19


async def test_a_write_that_waits_while_the_store_closes_is_refused_or_done(durable_url: str) -> None:
    async with open_store(durable_url) as store:
        writes = [asyncio.ensure_future(store.create(b"%03d" % n, b"")) for n in range(50)]
        await asyncio.sleep(0)
        await store.close()
        outcomes = await asyncio.gather(*writes, return_exceptions=True)
    done = sum(not isinstance(outcome, StoreClosed) for outcome in outcomes)
    async with checked_store(durable_url) as store:
        assert (await store.count(ALL)).count == done


async def test_a_closed_store_refuses_everything(durable_url: str) -> None:
    async with checked_store(durable_url) as store:
        pass
    for refused in (store.create(b"a", b""), store.get(b"a"), store.compact()):
        with pytest.raises(StoreClosed):
            await refused
    with pytest.raises(StoreClosed):
        store.watch(ALL)
    await store.close()
