"""A connection cut around COMMIT: done, not done or unknown, and never anything else than said."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from kinepy import KeyRange, KeyValue, Settings, open_store
from kinepy.errors import WriteOutcomeUnknown
from tests.faults.proxy import Cut, Proxy
from tests.postgres_server import PostgresServer

PATIENT = Settings(write_timeout_s=15.0, reconnect_backoff_max_s=0.1)
SETTINGS = Settings(write_timeout_s=3.0, reconnect_backoff_max_s=0.1)


@pytest.fixture
def url(own_postgres: PostgresServer) -> str:
    return own_postgres.create_database()


@pytest.fixture
async def proxy(url: str) -> AsyncIterator[Proxy]:
    async with Proxy(url) as running:
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


async def cut_and_compact(proxy: Proxy, url: str, writes: int) -> list[object]:
    """Write several keys in one batch whose answer is lost; the first one is deleted and compacted away meanwhile."""
    async with open_store(proxy.url, PATIENT) as store, open_store(url, PATIENT) as other:
        await store.current_revision()
        proxy.cut, proxy.refuse_after_cut = Cut.AFTER, True
        writing = asyncio.gather(
            *(store.create(b"%d" % number, b"") for number in range(writes)), return_exceptions=True
        )
        await proxy.was_cut.wait()
        await other.delete(b"0")
        await other.put(b"later", b"")
        await other.compact()
        proxy.refusing = False
        results: list[object] = list(await writing)
        assert await other.get(b"0") is None
        return results


async def test_a_batch_that_was_compacted_meanwhile_is_unknown_and_not_done_again(
    proxy: Proxy, url: str
) -> None:
    (result,) = await cut_and_compact(proxy, url, 1)
    assert isinstance(result, WriteOutcomeUnknown)


async def test_a_batch_of_which_a_part_was_compacted_meanwhile_is_found(proxy: Proxy, url: str) -> None:
    results = await cut_and_compact(proxy, url, 3)
    assert [result.mod_revision for result in results if isinstance(result, KeyValue)] == [2, 3, 4]


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
