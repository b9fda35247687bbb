"""P8: a lease ends at an instant in the database, and its keys die with it in one revision, once."""

import asyncio

import pytest

from kinepy import EventType, Revision, Store
from kinepy.errors import LeaseExists, LeaseNotFound
from tests.contract.stores import ALL, checked_store, events_upto


async def test_the_keys_of_a_revoked_lease_die_in_one_revision(store: Store) -> None:
    lease = await store.grant_lease(60)
    for key in (b"a", b"b", b"c"):
        await store.put(key, b"", lease=lease.id)
    await store.update(b"b", b"no lease any more")
    async with store.watch(ALL) as watch:
        assert await store.revoke_lease(lease.id) == 6
        events = await events_upto(watch, Revision(6))
    assert [(event.type, event.kv.key, event.revision) for event in events] == [
        (EventType.DELETE, b"a", 6),
        (EventType.DELETE, b"c", 6),
    ]


async def test_a_lease_without_keys_ends_without_a_revision(store: Store) -> None:
    lease = await store.grant_lease(60)
    assert await store.revoke_lease(lease.id) == 1
    assert await store.leases() == []


async def test_a_lease_tells_its_keys_and_its_time(store: Store) -> None:
    lease = await store.grant_lease(60, lease=7)
    await store.put(b"b", b"", lease=7)
    await store.put(b"a", b"", lease=7)
    status = await store.lease_status(7)
    assert (lease.id, status.ttl_s, status.keys) == (7, 60, [b"a", b"b"])
    assert 50 < status.remaining_s <= 60
    assert await store.leases() == [7]


async def test_keeping_a_lease_alive_moves_its_end(store: Store) -> None:
    lease = await store.grant_lease(60)
    assert (await store.keep_lease_alive(lease.id)).expires_at_us > lease.expires_at_us


async def test_an_absent_lease_is_named(store: Store) -> None:
    for refused in (
        store.put(b"a", b"", lease=9),
        store.keep_lease_alive(9),
        store.revoke_lease(9),
        store.lease_status(9),
    ):
        with pytest.raises(LeaseNotFound):
            await refused
    assert await store.current_revision() == 1


async def test_a_taken_id_cannot_be_granted(store: Store) -> None:
    await store.grant_lease(60, lease=7)
    with pytest.raises(LeaseExists):
        await store.grant_lease(60, lease=7)


async def test_a_lease_that_nobody_keeps_expires(store: Store) -> None:
    lease = await store.grant_lease(1)
    await store.put(b"a", b"", lease=lease.id)
    async with store.watch(ALL) as watch:
        [event] = await events_upto(watch, Revision(3))
    assert (event.type, event.kv.key) == (EventType.DELETE, b"a")
    with pytest.raises(LeaseNotFound):
        await store.keep_lease_alive(lease.id)


async def test_a_lease_expires_while_nobody_runs(durable_url: str) -> None:
    async with checked_store(durable_url) as store:
        lease = await store.grant_lease(1)
        await store.put(b"a", b"", lease=lease.id)
    async with checked_store(durable_url) as store:
        await store.wait_for(Revision(3), timeout_s=10)
        assert await store.get(b"a") is None


async def test_two_processes_end_a_lease_once(two_stores: tuple[Store, Store]) -> None:
    lease = await two_stores[0].grant_lease(1)
    await two_stores[1].put(b"a", b"", lease=lease.id)
    for store in two_stores:
        await store.wait_for(Revision(3), timeout_s=10)
    await asyncio.gather(*(store._leases.end_expired() for store in two_stores))
    assert await two_stores[0].current_revision() == 3


async def test_a_key_put_and_its_lease_ended_at_once_leave_nothing(store: Store) -> None:
    lease = await store.grant_lease(60)
    await asyncio.gather(store.put(b"a", b"", lease=lease.id), store.revoke_lease(lease.id))
    assert await store.get(b"a") is None
