"""A backup is one moment of a running store; what is restored is that moment, in a new epoch."""

import asyncio
import stat
from pathlib import Path

import pytest

from kinepy import KeyRange, Revision, open_store
from kinepy.backup import BadTransfer, export_database, restore_database
from kinepy.errors import Compacted
from kinepy.upkeep import check_database
from tests.operations.filling import fill, state_of


async def test_what_is_restored_is_what_was_backed_up(
    source_url: str, target_url: str, tmp_path: Path
) -> None:
    revision = await fill(source_url)
    backed_up = await export_database(source_url, tmp_path / "backup.gz")
    restored = await restore_database(target_url, tmp_path / "backup.gz")
    assert backed_up.revision == restored.revision == revision
    assert await state_of(target_url) == await state_of(source_url)
    assert (await check_database(target_url)).problems == []


async def test_a_restore_begins_an_epoch_ahead_of_all_that_was_seen(source_url: str, tmp_path: Path) -> None:
    await fill(source_url)
    await export_database(source_url, tmp_path / "backup")
    async with open_store(source_url) as store:
        seen = (await store.put(b"/later", b"lost")).mod_revision
    restored = await restore_database(source_url, tmp_path / "backup", force=True)
    async with open_store(source_url) as store:
        assert restored.epoch is not None
        assert await store.current_revision() == restored.epoch.base_revision > seen
        assert await store.get(b"/later") is None
        with pytest.raises(Compacted):
            await store.range(KeyRange.everything(), at=seen)
        assert (await store.put(b"/new", b"")).mod_revision > restored.epoch.base_revision


async def test_a_running_store_notices_a_restore(source_url: str, tmp_path: Path) -> None:
    await fill(source_url)
    await export_database(source_url, tmp_path / "backup")
    async with open_store(source_url) as store:
        seen = (await store.put(b"/k/001", b"later")).mod_revision
        watch = store.watch(KeyRange.everything(), start=Revision(seen + 1))
        before = await store.put(b"/later", b"")
        await restore_database(source_url, tmp_path / "backup", force=True)
        with pytest.raises(Compacted):
            async with asyncio.timeout(20):
                async for batch in watch:
                    assert all(event.revision <= before.mod_revision for event in batch.events)
        assert await store.get(b"/later") is None
        kept = await store.get(b"/k/001")
        assert kept is not None and kept.value != b"later"


async def test_a_backup_under_writes_is_one_moment(source_url: str, tmp_path: Path, file_url: str) -> None:
    async def write(number: int) -> None:
        async with open_store(source_url) as store:
            while not done.is_set():
                # At every moment the newest row is the store's revision: a backup of two moments would tell.
                await store.put(b"/n", b"%d" % number)
                number += 1

    done = asyncio.Event()
    async with open_store(source_url) as store:
        for i in range(500):
            await store.put(b"/filler/%03d" % i, b"x" * 1000)
    async with asyncio.TaskGroup() as group:
        group.create_task(write(0))
        backups = [await export_database(source_url, tmp_path / str(i)) for i in range(3)]
        done.set()
    await restore_database(file_url, tmp_path / "2")
    newest = max(item.mod_revision for item in await state_of(file_url))
    assert newest == backups[2].revision
    assert (await check_database(file_url)).problems == []


async def test_a_database_that_is_not_empty_is_kept(source_url: str, tmp_path: Path) -> None:
    await fill(source_url)
    await export_database(source_url, tmp_path / "backup")
    before = await state_of(source_url)
    with pytest.raises(BadTransfer, match="is not empty"):
        await restore_database(source_url, tmp_path / "backup")
    assert await state_of(source_url) == before


async def test_a_file_that_is_there_is_kept(file_url: str, tmp_path: Path) -> None:
    (tmp_path / "backup").write_bytes(b"precious")
    await fill(file_url)
    with pytest.raises(BadTransfer, match="--force"):
        await export_database(file_url, tmp_path / "backup")
    assert (tmp_path / "backup").read_bytes() == b"precious"
    await export_database(file_url, tmp_path / "backup", force=True)
    assert (tmp_path / "backup").read_bytes() != b"precious"


async def test_a_backup_appears_whole_or_not_at_all(file_url: str, tmp_path: Path) -> None:
    class DiskFull(OSError):
        pass

    def fails(_done: int, _total: int) -> None:
        raise DiskFull

    folder = tmp_path / "backups"
    folder.mkdir()
    await fill(file_url)
    with pytest.raises(DiskFull):
        await export_database(file_url, folder / "backup", progress=fails)
    assert list(folder.iterdir()) == []


async def test_only_its_owner_may_read_a_backup(file_url: str, tmp_path: Path) -> None:
    await export_database(file_url, tmp_path / "backup")
    assert stat.S_IMODE((tmp_path / "backup").stat().st_mode) == 0o600


async def test_leases_begin_anew(file_url: str, target_url: str, tmp_path: Path) -> None:
    async with open_store(file_url) as store:
        lease = await store.grant_lease(600)
        await store.put(b"/held", b"", lease=lease.id)
    await export_database(file_url, tmp_path / "backup")
    await restore_database(target_url, tmp_path / "backup")
    async with open_store(target_url) as store:
        status = await store.lease_status(lease.id)
        assert list(status.keys) == [b"/held"]
        assert status.remaining_s > 590
