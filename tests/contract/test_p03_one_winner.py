"""P3: of those that expect the same revision one wins; the others change nothing."""

import asyncio

import pytest

from kinepy import Compare, CompareOperator, CompareTarget, KeyRange, KeyValue, Put, Revision, Store, Txn
from kinepy.clients import retry_on_conflict
from kinepy.errors import KeyExists, KeyNotFound, RevisionConflict


async def test_one_of_many_creates_wins(store: Store) -> None:
    outcomes = await asyncio.gather(
        *(store.create(b"a", b"%d" % n) for n in range(20)), return_exceptions=True
    )
    [winner] = [outcome for outcome in outcomes if isinstance(outcome, KeyValue)]
    losers = [outcome for outcome in outcomes if isinstance(outcome, KeyExists)]
    assert len(losers) == 19 and all(loser.current == winner for loser in losers)


async def test_one_of_many_updates_of_one_revision_wins(store: Store) -> None:
    first = await store.create(b"a", b"")
    writes = (store.update(b"a", b"%d" % n, expect=first.mod_revision) for n in range(20))
    outcomes = await asyncio.gather(*writes, return_exceptions=True)
    assert sum(isinstance(outcome, KeyValue) for outcome in outcomes) == 1
    assert await store.current_revision() == 3


async def test_a_loser_learns_what_the_key_holds(store: Store) -> None:
    await store.create(b"a", b"1")
    current = await store.update(b"a", b"2")
    with pytest.raises(RevisionConflict) as conflict:
        await store.delete(b"a", expect=Revision(2))
    assert (conflict.value.expected, conflict.value.current) == (2, current)


@pytest.mark.parametrize("expect", [None, Revision(2)])
async def test_an_absent_key_cannot_be_updated_or_deleted(store: Store, expect: Revision | None) -> None:
    with pytest.raises(KeyNotFound):
        await store.update(b"a", b"", expect=expect)
    with pytest.raises(KeyNotFound):
        await store.delete(b"a", expect=expect)


async def test_one_of_many_transactions_wins(store: Store) -> None:
    unborn = Compare(KeyRange.single(b"a"), CompareTarget.CREATE_REVISION, CompareOperator.EQUAL, 0)
    txns = [Txn(compares=[unborn], then=[Put(key=b"a", value=b"%d" % n)]) for n in range(20)]
    results = await asyncio.gather(*(store.txn(txn) for txn in txns))
    assert [result.succeeded for result in results].count(True) == 1


async def test_two_processes_lose_no_update(two_stores: tuple[Store, Store]) -> None:
    await two_stores[0].create(b"n", b"0")

    def increment(current: KeyValue | None) -> bytes:
        assert current is not None
        return b"%d" % (int(current.value) + 1)

    writers = (retry_on_conflict(s, b"n", increment, attempts_max=100) for s in two_stores for _ in range(20))
    await asyncio.gather(*writers)
    counter = await two_stores[1].get(b"n")
    assert counter is not None and (counter.value, counter.version) == (b"40", 41)


async def test_two_processes_create_one_key_once(two_stores: tuple[Store, Store]) -> None:
    writes = (s.create(b"%d" % n, b"") for n in range(20) for s in two_stores)
    outcomes = await asyncio.gather(*writes, return_exceptions=True)
    assert sum(isinstance(outcome, KeyExists) for outcome in outcomes) == 20
