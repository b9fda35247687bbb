"""An export moves a store between databases: with history all of it, without it the live keys and their revisions."""

from pathlib import Path

import pytest

from kinepy import KeyRange, Revision, open_store
from kinepy.backup import BadTransfer, export_database, import_database
from kinepy.errors import Compacted
from kinepy.log.pages import BYTES_AIM, ROWS_MAX, PageSize
from kinepy.upkeep import check_database, start_epoch
from tests.operations.filling import fill, log_of, state_of


async def test_a_history_is_the_same_afterwards(source_url: str, target_url: str, tmp_path: Path) -> None:
    revision = await fill(source_url)
    await export_database(source_url, tmp_path / "store.gz", contents="history")
    await import_database(target_url, tmp_path / "store.gz")
    assert await log_of(target_url) == await log_of(source_url)
    assert (await check_database(target_url)).problems == []
    async with open_store(target_url) as store:
        assert await store.current_revision() == revision
        assert (await store.put(b"/next", b"")).mod_revision == revision + 1
        async for batch in store.watch(KeyRange.prefix(b"/k/"), start=Revision(2)):
            assert batch.events[0].revision == 2
            break


async def test_floors_and_epochs_move_with_a_history(
    source_url: str, target_url: str, tmp_path: Path
) -> None:
    await fill(source_url)
    async with open_store(source_url) as store:
        await store.compact(Revision(100))
    await start_epoch(source_url, reason="a test")
    async with open_store(source_url) as store:
        await store.put(b"/after", b"")
        before = await store.status()
    await export_database(source_url, tmp_path / "store", contents="history")
    await import_database(target_url, tmp_path / "store")
    async with open_store(target_url) as store:
        after = await store.status()
    assert (after.current_revision, after.compact_revision, after.epoch, after.keys) == (
        before.current_revision,
        before.compact_revision,
        before.epoch,
        before.keys,
    )
    assert (await check_database(target_url)).problems == []


async def test_a_state_keeps_its_revisions_and_history_begins(
    source_url: str, target_url: str, tmp_path: Path
) -> None:
    revision = await fill(source_url)
    await export_database(source_url, tmp_path / "store")
    await import_database(target_url, tmp_path / "store")
    assert await state_of(target_url) == await state_of(source_url)
    async with open_store(target_url) as store:
        watch = store.watch(KeyRange.everything(), start=Revision(revision + 1))
        written = await store.put(b"/next", b"")
        async for batch in watch:
            if batch.events:
                assert [event.revision for event in batch.events] == [written.mod_revision]
                break
        with pytest.raises(Compacted):
            await store.range(KeyRange.everything(), at=revision)


async def test_only_an_empty_database_takes_an_import(file_url: str, tmp_path: Path) -> None:
    await fill(file_url)
    await export_database(file_url, tmp_path / "store")
    before = await state_of(file_url)
    with pytest.raises(BadTransfer, match="is not empty"):
        await import_database(file_url, tmp_path / "store")
    assert await state_of(file_url) == before


async def test_an_empty_store_moves_too(source_url: str, target_url: str, tmp_path: Path) -> None:
    await export_database(source_url, tmp_path / "store", contents="history")
    assert (await import_database(target_url, tmp_path / "store")).rows == 0
    assert await state_of(target_url) == []


def test_pages_shrink_with_large_values_and_grow_with_small_ones() -> None:
    pages = PageSize()
    for _ in range(10):
        pages.saw(pages.rows, pages.rows * 100)
    assert pages.rows == ROWS_MAX
    pages.saw(pages.rows, pages.rows * 3 * 1024 * 1024)
    assert pages.rows * 3 * 1024 * 1024 <= BYTES_AIM
    pages.saw(1, 10 * BYTES_AIM)
    assert pages.rows == 1
