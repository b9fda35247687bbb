"""An answer of the database that is cut in its middle is an error or asked for again, never taken for the whole."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from kinepy import KeyValue, Store
from kinepy.errors import StorageUnavailable
from tests.backends import CreatePostgres
from tests.contract.stores import ALL, FAST, checked_store, events_upto
from tests.faults.proxy import Proxy

FORGETFUL = replace(FAST, ring_bytes_max=0, cache_bytes_max=1)
"""What is read comes from the database."""
CUTS = (2_000, 50_000, 150_000)
"""Of about 300 KB."""


@pytest.fixture
async def cut(create_postgres: CreatePostgres) -> AsyncIterator[tuple[Store, Proxy, list[KeyValue]]]:
    """A store behind a proxy, and what it holds."""
    async with Proxy(create_postgres(True)) as proxy, checked_store(proxy.url, FORGETFUL) as store:
        yield store, proxy, [await store.put(b"/k/%03d" % n, b"x" * 1000) for n in range(300)]


Cut = tuple[Store, Proxy, list[KeyValue]]


@pytest.mark.parametrize("size", CUTS)
async def test_a_range_is_whole_or_refused(cut: Cut, size: int) -> None:
    store, proxy, held = cut
    proxy.answer_bytes = size
    try:
        found = (await store.range(ALL, at=held[-1].mod_revision)).items
    except StorageUnavailable:
        found = (await store.range(ALL, at=held[-1].mod_revision)).items
    assert proxy.answers_cut == 1
    assert list(found) == held


@pytest.mark.parametrize("size", CUTS)
async def test_a_watch_misses_nothing(cut: Cut, size: int) -> None:
    store, proxy, held = cut
    told: list[KeyValue] = []
    proxy.answer_bytes = size
    while len(told) < len(held):
        start = told[-1].mod_revision + 1 if told else held[0].mod_revision
        try:
            async with store.watch(ALL, start=type(held[0].mod_revision)(start)) as watch:
                told += [event.kv for event in await events_upto(watch, held[-1].mod_revision)]
        except StorageUnavailable:
            continue
    assert proxy.answers_cut == 1
    assert told == held
