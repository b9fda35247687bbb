"""Thousands of leases that run out at once, with several processes about."""

import asyncio
from collections import Counter
from dataclasses import replace

import pytest

from kinepy import EventType, KeyRange, Put, Revision, Store, Txn, open_store
from tests.backends import DURABLE_BACKENDS, Backend, DatabaseMaker
from tests.contract.stores import FAST

PREFIX = KeyRange.prefix(b"/leased/")
LEASES, KEYS_EACH = 5000, 2
SLEEPING = replace(FAST, lease_check_interval_s=3600.0)


async def grant_many(store: Store, *, ttl_s: int) -> dict[int, list[bytes]]:
    """Leases with their keys, all granted at about the same time."""

    async def grant(number: int) -> tuple[int, list[bytes]]:
        lease = await store.grant_lease(ttl_s)
        keys = [b"/leased/%d-%d" % (number, n) for n in range(KEYS_EACH)]
        await store.txn(Txn(then=tuple(Put(key=key, value=b"", lease=lease.id) for key in keys)))
        return lease.id, keys

    return dict(await asyncio.gather(*(grant(number) for number in range(LEASES))))


@pytest.mark.slow
@pytest.mark.parametrize("backend", DURABLE_BACKENDS, ids=lambda backend: backend.name)
async def test_each_of_thousands_of_leases_ends_once_in_a_revision_of_its_own(
    databases: DatabaseMaker, backend: Backend
) -> None:
    url = databases.fresh_url(backend)
    async with open_store(url, SLEEPING) as store:
        held = await grant_many(store, ttl_s=8)
        granted = await store.current_revision()
    # They expire while nobody runs, and two processes find them.
    async with open_store(url, SLEEPING) as one, open_store(url, SLEEPING) as other:
        async with asyncio.timeout(50):
            while await one.leases() or await other.leases():
                await one.watch(PREFIX).next(timeout_s=0.05)
            async with one.watch(PREFIX, start=Revision(granted + 1)) as watch:
                ended = asyncio.gather(*(store._leases.end_expired() for store in (one, other)))
                died: dict[bytes, list[int]] = {}
                while len(died) < LEASES * KEYS_EACH:
                    for event in (await anext(watch)).events:
                        assert event.type is EventType.DELETE
                        died.setdefault(event.kv.key, []).append(event.revision)
                await ended
        assert all(len(revisions) == 1 for revisions in died.values())
        revision_of = {lease: {died[key][0] for key in keys} for lease, keys in held.items()}
        assert all(len(revisions) == 1 for revisions in revision_of.values())
        taken = Counter(revision for revisions in revision_of.values() for revision in revisions)
        assert set(taken.values()) == {1}
        assert await one.current_revision() == granted + LEASES
        assert (await one.count(PREFIX)).count == 0
