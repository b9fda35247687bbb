"""A connection cut around COMMIT: done, not done or unknown, and never anything else than said."""

from collections.abc import AsyncIterator

import pytest

from kinepy import KeyRange, Settings, open_store
from kinepy.errors import WriteOutcomeUnknown
from tests.faults.proxy import Cut, Proxy
from tests.postgres_server import PostgresServer

SETTINGS = Settings(write_timeout_s=3.0, reconnect_backoff_max_s=0.1)


@pytest.fixture
async def proxy(own_postgres: PostgresServer) -> AsyncIterator[Proxy]:
    async with Proxy(own_postgres.create_database()) as running:
        yield running


@pytest.mark.parametrize("cut", list(Cut))
async def test_the_fate_of_a_batch_is_found_out(proxy: Proxy, cut: Cut) -> None:
    async with open_store(proxy.url, SETTINGS) as store:
        before = await store.create(b"before", b"0")
        proxy.cut = cut
        made = await store.create(b"a", b"1")
        assert proxy.was_cut.is_set()
        assert made.mod_revision == before.mod_revision + 1
        after = await store.create(b"b", b"2")
        assert after.mod_revision == made.mod_revision + 1


@pytest.mark.parametrize("cut", list(Cut))
async def test_a_compare_and_write_is_not_done_twice(proxy: Proxy, cut: Cut) -> None:
    async with open_store(proxy.url, SETTINGS) as store:
        first = await store.create(b"a", b"0")
        proxy.cut = cut
        second = await store.update(b"a", b"1", expect=first.mod_revision)
        assert (second.version, second.mod_revision) == (2, first.mod_revision + 1)
        assert await store.current_revision() == second.mod_revision


async def test_a_fate_that_cannot_be_found_out_is_unknown(proxy: Proxy) -> None:
    async with open_store(proxy.url, SETTINGS) as store:
        await store.create(b"before", b"0")
        proxy.cut, proxy.refuse_after_cut = Cut.AFTER, True
        with pytest.raises(WriteOutcomeUnknown):
            await store.create(b"a", b"1")
        proxy.refusing = False
        found = await store.get(b"a")
        assert found is not None
        assert found.value == b"1"


async def test_a_watch_goes_on_over_cut_connections(proxy: Proxy) -> None:
    async with open_store(proxy.url, SETTINGS) as store, store.watch(KeyRange.prefix(b"k")) as watch:
        made = []
        for number in range(12):
            if number % 4 == 0:
                proxy.cut_all()
            if number % 4 == 2:
                proxy.cut = Cut.AFTER
            made.append((await store.create(b"k%d" % number, b"")).mod_revision)
        seen: list[int] = []
        while len(seen) < len(made):
            seen += [event.revision for event in (await anext(watch)).events]
        assert seen == made
