"""P2: a revision is never used twice."""

import pytest

from kinepy import Put, Store, Txn
from kinepy.errors import KeyNotFound
from tests.contract.stores import checked_store


async def test_revisions_go_on_after_a_restart(durable_url: str) -> None:
    async with checked_store(durable_url) as store:
        await store.create(b"a", b"1")
        await store.delete(b"a")
    async with checked_store(durable_url) as store:
        assert await store.current_revision() == 3
        assert (await store.create(b"a", b"2")).mod_revision == 4


async def test_revisions_go_on_after_everything_was_deleted_and_compacted(durable_url: str) -> None:
    async with checked_store(durable_url) as store:
        await store.create(b"a", b"1")
        await store.delete(b"a")
        await store.compact()
    async with checked_store(durable_url) as store:
        assert (await store.create(b"a", b"2")).mod_revision == 4


async def test_a_failed_transaction_gives_its_revision_to_the_next_write(store: Store) -> None:
    with pytest.raises(KeyNotFound):
        await store.txn(Txn(then=[Put(key=b"a", value=b"1"), Put(key=b"b", value=None)]))
    assert await store.get(b"a") is None
    assert (await store.put(b"b", b"1")).mod_revision == 2
