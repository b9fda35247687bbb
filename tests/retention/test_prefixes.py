"""Each prefix keeps its own history, and a quiet one keeps all of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from kinepy import KeyRange, Revision, Store, open_store
from kinepy.errors import Compacted, WatchOverflow
from kinepy.upkeep import check_database, start_epoch
from tests.backends import BACKENDS, Backend, DatabaseMaker
from tests.contract.stores import FAST, events_upto

EVENTS, LEASES, MAPS = (b"/registry/events/", b"/registry/leases/", b"/registry/configmaps/")
RULES = replace(
    FAST,
    ring_bytes_max=0,
    compaction_keep_s=0.0,
    compaction_keep_changes=0,
    compaction_batch_rows=2,
    retention=("/registry/configmaps/=forever", "/registry/events/=3", "/registry/leases/=1h,1KiB"),
)


@asynccontextmanager
async def busy_store(url: str) -> AsyncIterator[Store]:
    """A store in which every prefix has seen ten changes of one key, one after another, and retention was applied."""
    async with open_store(url, RULES) as store:
        for n in range(10):
            for prefix in (EVENTS, LEASES, MAPS, b"/other/"):
                await store.put(prefix + b"a", b"%d" % n + b"x" * 100)
        await store._compactor.apply_retention()
        yield store


async def oldest(store: Store, prefix: bytes) -> int:
    """The oldest readable revision of a prefix."""
    for at in range(1, 42):
        try:
            await store.range(KeyRange.prefix(prefix), at=Revision(at))
        except Compacted:
            continue
        return at
    raise AssertionError("nothing is readable")


async def test_every_prefix_keeps_what_its_rule_says(database_url: str) -> None:
    async with busy_store(database_url) as store:
        # Forty changes from revision 2 on; /other/ changes at 5, 9, ... 41, events at 2, 6, ... 38.
        kept = {prefix: await oldest(store, prefix) for prefix in (MAPS, b"/other/", EVENTS, LEASES)}
        assert kept[MAPS] == 1
        assert kept[b"/other/"] == 38
        assert kept[EVENTS] in (27, 31)
        assert 1 < kept[LEASES] < 38
        assert await oldest(store, b"/registry/") == max(kept[EVENTS], kept[LEASES], 38)


async def test_what_is_kept_is_all_there_and_the_rest_is_gone(
    databases: DatabaseMaker, backend: Backend
) -> None:
    url = databases.fresh_url(backend)
    async with busy_store(url) as store:
        rows = (await store.status()).log_rows
        assert 10 + 3 + 1 <= rows < 30
        async with store.watch(KeyRange.prefix(MAPS), start=Revision(1)) as watch:
            events = await events_upto(watch, Revision(40))
        assert [event.kv.version for event in events] == list(range(1, 11))
        for at in range(4, 42, 4):
            kv = await store.get(MAPS + b"a", at=Revision(at))
            assert kv is not None and kv.mod_revision == at
    if backend.durable:
        assert (await check_database(url)).problems == []


async def test_a_quiet_prefix_is_never_given_up(database_url: str) -> None:
    settings = replace(RULES, retention=("/quiet/=0s", "/busy/=0s"))
    async with open_store(database_url, settings) as store:
        await store.create(b"/quiet/a", b"1")
        for n in range(20):
            await store.put(b"/busy/a", b"%d" % n)
        for _ in range(2):
            await store._compactor.apply_retention()
        await store.put(b"/quiet/b", b"2")
        async with store.watch(KeyRange.prefix(b"/quiet/"), start=Revision(2)) as watch:
            assert len(await events_upto(watch, Revision(23))) == 2
        with pytest.raises(Compacted):
            await store.watch(KeyRange.prefix(b"/busy/"), start=Revision(5)).next()
        await store.put(b"/quiet/a", b"3")
        await store.put(b"/busy/a", b"")
        await store._compactor.apply_retention()
        with pytest.raises(Compacted):
            await store.watch(KeyRange.prefix(b"/quiet/"), start=Revision(2)).next()


async def test_a_process_that_lags_behind_a_compaction_ends_quiet_watches_so_that_they_resume(
    tmp_path: Path,
) -> None:
    url, quiet, busy = (
        f"sqlite:///{tmp_path / 'a.db'}",
        KeyRange.prefix(b"/quiet/"),
        KeyRange.prefix(b"/busy/"),
    )
    settings = replace(RULES, retention=("/quiet/=forever",))
    lagging = replace(settings, poll_interval_s=1000.0, poll_interval_notified_s=1000.0)
    async with open_store(url, settings) as one, open_store(url, lagging) as late:
        watch, sent_away = late.watch(quiet), late.watch(busy)
        await one.put(b"/quiet/a", b"1")
        for n in range(5):
            await one.put(b"/busy/a", b"%d" % n)
        assert await one.compact() == await late.current_revision()
        with pytest.raises(Compacted):
            await sent_away.next()
        with pytest.raises(WatchOverflow) as ended:
            await watch.next()
        async with late.watch(quiet, start=ended.value.resume) as resumed:
            assert [event.kv.value for event in await events_upto(resumed, Revision(7))] == [b"1"]


async def test_counting_crosses_the_gap_before_a_new_epoch(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    async with open_store(url, replace(RULES, retention=("/busy/=1KiB",))) as store:
        await store.put(b"/busy/a", b"")
        await store._compactor.apply_retention()
        # As when the epoch begins while a compaction is at work.
        floors = await store._tail.look_at_floors()
        await start_epoch(url, reason="restored")
        await store.put(b"/busy/a", b"1")
        await store.put(b"/busy/a", b"x" * 1024)
        async with asyncio.timeout(10):
            targets = await store._compactor._retainer.targets(floors)
        assert targets[b"/busy/"] == await store.current_revision()


async def test_compacting_spares_only_what_is_kept_for_ever(database_url: str) -> None:
    async with busy_store(database_url) as store:
        assert await store.compact() == 41
        assert [await oldest(store, prefix) for prefix in (MAPS, EVENTS, LEASES, b"/o")] == [1, 41, 41, 41]


async def test_a_rule_that_came_later_keeps_from_then_on(databases: DatabaseMaker) -> None:
    url = databases.fresh_url(next(each for each in BACKENDS if each.name == "sqlite-file"))
    async with open_store(url, replace(RULES, retention=())) as store:
        for n in range(5):
            await store.put(MAPS + b"a", b"%d" % n)
        await store.compact(Revision(4))
    async with open_store(url, RULES) as store:
        await store.put(MAPS + b"a", b"6")
        await store.compact()
        assert await oldest(store, MAPS) == 4
    async with open_store(url, replace(RULES, retention=())) as store:
        await store.compact()
        assert await oldest(store, MAPS) == 7
