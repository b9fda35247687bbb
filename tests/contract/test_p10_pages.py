"""P10: what is read at once is bounded by bytes too, wherever it is read from."""

import tracemalloc
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from kinepy import KeyValue, Revision, Settings, Store
from kinepy.errors import InvalidRequest
from tests.contract.conftest import OpenStore
from tests.contract.stores import ALL, FAST

MIB = 1024 * 1024
KEYS = 24

WARM = FAST
VALUES_ON_DISK = replace(FAST, cache_bytes_max=0, ring_bytes_max=0)
ALL_ON_DISK = replace(VALUES_ON_DISK, index_bytes_max=0)
PLACES = pytest.mark.parametrize(
    "settings", [WARM, VALUES_ON_DISK, ALL_ON_DISK], ids=["memory", "index", "database"]
)


async def fill(store: Store, size: int) -> Revision:
    """Two versions of every key, both of this size; returns the revision of the last of the first versions."""
    for n in range(KEYS):
        await store.create(b"%03d" % n, bytes([n]) * size)
    middle = store.applied_revision
    for n in range(KEYS):
        await store.update(b"%03d" % n, bytes([n + 100]) * size)
    return middle


async def pages(store: Store, *, at: Revision | None, bytes_max: int) -> AsyncIterator[list[KeyValue]]:
    """The pages of everything; each says how many keys are left."""
    rest, left, more = ALL, KEYS, True
    while more:
        page = await store.range(rest, at=at, bytes_max=bytes_max)
        assert page.total == left and page.more == (left > len(page.items))
        left, more, at = left - len(page.items), page.more, page.revision
        rest = rest.after(page.items[-1].key)
        yield list(page.items)


@PLACES
@pytest.mark.parametrize("past", [False, True], ids=["now", "then"])
async def test_pages_end_with_the_item_that_reaches_the_bytes(
    open_with: OpenStore, settings: Settings, past: bool
) -> None:
    async with open_with(settings) as store:
        middle = await fill(store, 1000)
        found = [page async for page in pages(store, at=middle if past else None, bytes_max=4001)]
    assert [len(page) for page in found] == [5, 5, 5, 5, 4]
    values = [item.value for page in found for item in page]
    assert values == [bytes([n + (0 if past else 100)]) * 1000 for n in range(KEYS)]


@PLACES
async def test_a_single_item_is_always_given(open_with: OpenStore, settings: Settings) -> None:
    async with open_with(settings) as store:
        await fill(store, 1000)
        page = await store.range(ALL, bytes_max=1)
        assert [item.key for item in page.items] == [b"000"] and page.more and page.total == KEYS
        assert len((await store.range(ALL, bytes_max=10**9, limit=3)).items) == 3
        assert len((await store.range(ALL, bytes_max=1, keys_only=True)).items) == KEYS


async def test_a_bound_that_holds_nothing_is_refused(store: Store) -> None:
    with pytest.raises(InvalidRequest, match="bytes_max 0 is invalid"):
        await store.range(ALL, bytes_max=0)


@pytest.mark.parametrize("settings", [VALUES_ON_DISK, ALL_ON_DISK], ids=["index", "database"])
@pytest.mark.parametrize("past", [False, True], ids=["now", "then"])
async def test_a_page_takes_about_its_bytes_of_memory(
    open_with: OpenStore, settings: Settings, past: bool
) -> None:
    async with open_with(settings) as store:
        middle = await fill(store, MIB)
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        try:
            async for page in pages(store, at=middle if past else None, bytes_max=2 * MIB):
                assert len(page) == 2
            peak = tracemalloc.get_traced_memory()[1] - before
        finally:
            tracemalloc.stop()
    # A page, the one before it, and what the network has of it; all there is would be 24 MiB.
    assert peak < 10 * MIB, peak


async def test_values_that_are_let_go_are_not_read_with_those_that_are_held(open_with: OpenStore) -> None:
    settings = replace(FAST, cache_bytes_max=30_000, ring_bytes_max=0)
    async with open_with(settings) as store:
        await fill(store, 1000)
        before = store.metrics.cache_misses
        whole = await store.range(ALL)
        assert [item.value for item in whole.items] == [bytes([n + 100]) * 1000 for n in range(KEYS)]
        assert 0 < store.metrics.cache_misses - before < KEYS
