"""P9: bad input is named, changes nothing and harms nobody."""

import asyncio
from dataclasses import replace

import pytest

from kinepy import (
    Compare,
    CompareOperator,
    CompareTarget,
    DeleteRange,
    KeyRange,
    KeyValue,
    Put,
    Range,
    Store,
    Txn,
)
from kinepy.errors import (
    DuplicateKey,
    InvalidKey,
    InvalidRequest,
    KeyNotFound,
    TooManyOperations,
    TransactionTooLarge,
    ValueTooLarge,
)
from kinepy.log.draft import Draft
from kinepy.records import Operation
from kinepy.store.writes import PutWrite
from tests.contract.conftest import OpenStore
from tests.contract.stores import ALL, FAST

A = KeyRange.single(b"a")


@pytest.mark.parametrize("key", [b"", b"k" * 4097], ids=["empty", "long"])
async def test_a_key_has_bounds(store: Store, key: bytes) -> None:
    for refused in (
        store.get(key),
        store.create(key, b""),
        store.delete(key),
        store.txn(Txn(then=[Put(key=key, value=b"")])),
    ):
        with pytest.raises(InvalidKey):
            await refused


async def test_any_bytes_are_a_key(store: Store) -> None:
    keys = [b"\x00", b"a\x00b", b"\xff" * 4096, b"'; DROP TABLE log; --", b"\xf0\x28\x8c\x28"]
    for key in keys:
        assert await store.create(key, key) == await store.get(key)
    assert [kv.key for kv in (await store.range(ALL)).items] == sorted(keys)


async def test_a_value_has_a_bound(store: Store) -> None:
    with pytest.raises(ValueTooLarge) as large:
        await store.put(b"a", bytes(3 * 1024 * 1024 + 1))
    assert (large.value.key, large.value.size_bytes) == (b"a", 3 * 1024 * 1024 + 1)
    assert (await store.put(b"a", bytes(3 * 1024 * 1024))).version == 1


@pytest.mark.parametrize("refused", [0, -1, 2**62])
async def test_a_time_to_live_has_bounds(store: Store, refused: int) -> None:
    with pytest.raises(InvalidRequest):
        await store.grant_lease(refused)


@pytest.mark.parametrize("lease", [0, -(2**63) - 1, 2**63])
async def test_a_lease_id_has_bounds(store: Store, lease: int) -> None:
    for refused in (
        store.grant_lease(10, lease=lease),
        store.put(b"a", b"", lease=lease),
        store.txn(Txn(then=[Put(key=b"a", value=b"", lease=lease)])),
        store.keep_lease_alive(lease),
        store.revoke_lease(lease),
        store.lease_status(lease),
    ):
        with pytest.raises(InvalidRequest):
            await refused


@pytest.mark.parametrize("actor", ["a\x00b", "\ud800", "ü\x00"])
async def test_an_actor_is_text(store: Store, actor: str) -> None:
    await store.create(b"a", b"", actor="jürgen")
    for refused in (
        store.put(b"a", b"", actor=actor),
        store.delete(b"a", actor=actor),
        store.txn(Txn(), actor=actor),
    ):
        with pytest.raises(InvalidRequest):
            await refused


class BrokenWrite(PutWrite):
    """A write that fails in a way that nobody thought of."""

    __slots__ = ()

    def evaluate(self, draft: Draft) -> KeyValue:
        raise ZeroDivisionError


async def test_a_write_that_breaks_its_batch_breaks_alone(store: Store) -> None:
    good = [store.create(b"%d" % n, b"") for n in range(10)]
    broken = store._committer.submit(BrokenWrite(b"x", b"", lease=None, actor=None))
    outcomes = await asyncio.gather(*good, broken, return_exceptions=True)
    assert isinstance(outcomes.pop(), ZeroDivisionError)
    assert sorted(kv.mod_revision for kv in outcomes if isinstance(kv, KeyValue)) == list(range(2, 12))


@pytest.mark.parametrize("limit", [0, -3])
async def test_a_limit_holds_something(store: Store, limit: int) -> None:
    for refused in (store.range(ALL, limit=limit), store.txn(Txn(then=[Range(range=ALL, limit=limit)]))):
        with pytest.raises(InvalidRequest):
            await refused


@pytest.mark.parametrize(
    "operations",
    [
        [Put(key=b"a", value=b""), Put(key=b"a", value=b"")],
        [Put(key=b"a", value=b""), DeleteRange(range=ALL)],
        [DeleteRange(range=ALL), Put(key=b"a", value=b"")],
        [Put(key=b"a", value=b""), Txn(otherwise=[Put(key=b"a", value=b"")])],
    ],
    ids=["put twice", "put and delete", "delete and put", "nested"],
)
async def test_a_transaction_writes_a_key_once(store: Store, operations: list[Operation]) -> None:
    with pytest.raises(DuplicateKey) as duplicate:
        await store.txn(Txn(otherwise=operations))
    assert duplicate.value.key == b"a"


async def test_only_one_branch_of_a_transaction_counts(store: Store) -> None:
    put = Put(key=b"a", value=b"")
    result = await store.txn(Txn(then=[Txn(then=[put], otherwise=[put])], otherwise=[put]))
    assert result.revision == 2


async def test_a_compare_matches_its_kind(store: Store) -> None:
    for target, operand in ((CompareTarget.VALUE, 1), (CompareTarget.VERSION, b"1")):
        with pytest.raises(InvalidRequest):
            await store.txn(Txn(compares=[Compare(A, target, CompareOperator.EQUAL, operand)]))


async def test_a_transaction_has_a_bound_of_operations(store: Store) -> None:
    with pytest.raises(TooManyOperations):
        await store.txn(Txn(then=[Range(range=A)] * 1025))


async def test_a_transaction_has_a_bound_of_keys(open_with: OpenStore) -> None:
    async with open_with(replace(FAST, transaction_keys_max=5)) as store:
        for n in range(6):
            await store.create(b"%d" % n, b"")
        with pytest.raises(TooManyOperations):
            await store.txn(Txn(then=[DeleteRange(range=ALL)]))
        deleted = await store.txn(Txn(then=[DeleteRange(range=KeyRange(b"0", b"5"))]))
        assert deleted.revision == 8


@pytest.mark.parametrize("cache_bytes_max", [1, FAST.cache_bytes_max], ids=["from-database", "from-memory"])
async def test_a_transaction_has_a_bound_of_bytes_that_it_reads(
    open_with: OpenStore, cache_bytes_max: int
) -> None:
    settings = replace(FAST, transaction_read_bytes_max=1000, cache_bytes_max=cache_bytes_max)
    async with open_with(settings) as store:
        for n in range(10):
            await store.create(b"%d" % n, b"x" * 200)
        await store.create(b"large", b"x" * 1500)
        too_large = [
            Txn(then=[DeleteRange(range=ALL)]),
            Txn(then=[Range(range=KeyRange.single(b"%d" % n)) for n in range(6)]),
            Txn(otherwise=[Range(range=ALL)]),
        ]
        small = Txn(then=[Range(range=KeyRange(b"0", b"4")), Put(key=b"9", value=b"new")])
        refused = asyncio.gather(*map(store.txn, too_large), return_exceptions=True)
        done = await asyncio.gather(store.txn(small), store.delete(b"large"))
        assert [type(outcome) for outcome in await refused] == [TransactionTooLarge] * 3
        assert [outcome.revision for outcome in done] == [13, 14]
        assert (await store.count(ALL)).count == 10


async def test_keeping_the_value_or_lease_needs_a_key(store: Store) -> None:
    for put in (Put(key=b"a", value=None), Put(key=b"a", value=b"", keep_lease=True)):
        with pytest.raises(KeyNotFound):
            await store.txn(Txn(then=[Put(key=b"b", value=b""), put]))
    assert (await store.count(ALL)).count == 0


async def test_bad_writes_do_not_harm_the_others_of_their_batch(store: Store) -> None:
    good = [store.create(b"%d" % n, b"") for n in range(10)]
    bad = [
        store.update(b"absent", b""),
        store.put(b"x", b"", lease=5),
        store.txn(Txn(then=[Put(key=b"y", value=None)])),
    ]
    outcomes = await asyncio.gather(*good[:5], *bad, *good[5:], return_exceptions=True)
    assert sum(isinstance(outcome, KeyValue) for outcome in outcomes) == 10
    assert await store.current_revision() == 11


async def test_a_transaction_has_a_greatest_depth(store: Store) -> None:
    txn = Txn(then=[Put(key=b"a", value=b"")])
    for _ in range(3000):
        txn = Txn(then=[txn])
    with pytest.raises(InvalidRequest, match="nested more than 64 deep"):
        await store.txn(txn)
    assert await store.current_revision() == 1
