"""A batch of leases alone leaves no row in the log: its fate is found out all the same."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from kinepy import Settings, open_store
from tests.faults.proxy import Cut, Proxy
from tests.postgres_server import PostgresServer

SETTINGS = Settings(write_timeout_s=10.0, reconnect_backoff_max_s=0.1)
LEASE = 7


@pytest.fixture
def url(own_postgres: PostgresServer) -> str:
    return own_postgres.create_database()


@pytest.fixture
async def proxy(url: str) -> AsyncIterator[Proxy]:
    async with Proxy(url) as running:
        yield running


@pytest.mark.parametrize("cut", list(Cut))
async def test_a_grant_and_a_revoke_are_done_once(proxy: Proxy, cut: Cut) -> None:
    async with open_store(proxy.url, SETTINGS) as store:
        await store.current_revision()
        proxy.cut = cut
        assert (await store.grant_lease(100, lease=LEASE)).id == LEASE
        proxy.cut = cut
        await store.revoke_lease(LEASE)
        assert await store.leases() == []


async def test_what_others_did_since_is_left_alone(proxy: Proxy, url: str) -> None:
    async with open_store(proxy.url, SETTINGS) as store, open_store(url, SETTINGS) as other:
        await store.grant_lease(100, lease=LEASE)
        proxy.cut, proxy.refuse_after_cut = Cut.AFTER, True
        revoking = asyncio.ensure_future(store.revoke_lease(LEASE))
        await proxy.was_cut.wait()
        await other.grant_lease(200, lease=LEASE)
        proxy.refusing = False
        await revoking
        assert (await other.lease_status(LEASE)).ttl_s == 200


async def test_a_grant_that_others_have_ended_is_not_made_again(proxy: Proxy, url: str) -> None:
    async with open_store(proxy.url, SETTINGS) as store, open_store(url, SETTINGS) as other:
        await store.current_revision()
        proxy.cut, proxy.refuse_after_cut = Cut.AFTER, True
        granting = asyncio.ensure_future(store.grant_lease(100, lease=LEASE))
        await proxy.was_cut.wait()
        await other.revoke_lease(LEASE)
        proxy.refusing = False
        await granting
        assert await other.leases() == []
