"""P12: a database that is older than what was seen of it goes on in a new epoch."""

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest

from kinepy import KeyRange, Range, Revision, Settings, Store, Txn, open_store
from kinepy.errors import Compacted, DatabaseUnusable, KeyNotFound, StorageUnavailable, StoreClosed
from kinepy.log.witness import Witness
from kinepy.upkeep import start_epoch
from tests.contract.stores import ALL, FAST, checked_store

FORGET = (
    "DELETE FROM log WHERE revision > {revision}",
    "DELETE FROM head",
    "INSERT INTO head (key, revision, sub, create_revision, version, lease)"
    " SELECT key, revision, sub, create_revision, version, lease FROM log AS one WHERE value IS NOT NULL"
    " AND NOT EXISTS (SELECT 1 FROM log AS later WHERE later.key = one.key AND later.revision > one.revision)",
)


async def forget_after(url: str, revision: int) -> None:
    """What a fail-over to a server without the last commits leaves."""
    statements = [statement.format(revision=revision) for statement in FORGET]
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as raw:
            raw.executescript(f"BEGIN; {'; '.join(statements)}; COMMIT")
        return
    connection = await asyncpg.connect(url)
    async with connection.transaction():
        for statement in statements:
            await connection.execute(statement)
    await connection.close()


async def is_ahead_of(store: Store, seen: Revision) -> None:
    """The store has jumped: nothing that was seen can be asked for, and nothing is used again."""
    status = await store.status()
    assert status.epoch == 2
    assert status.compact_revision > seen
    with pytest.raises(Compacted):
        await store.range(ALL, at=seen)
    with pytest.raises(Compacted):
        await store.watch(ALL, start=Revision(seen + 1)).next()
    assert (await store.put(b"new", b"")).mod_revision == status.current_revision + 1


async def fill(store: Store, count: int) -> Revision:
    """Write some more; returns the last revision."""
    return [(await store.put(b"%d" % number, b"")).mod_revision for number in range(count)][-1]


@pytest.fixture
def witnessed(tmp_path: Path) -> Settings:
    return replace(FAST, witness_path=str(tmp_path / "witness"))


async def test_a_file_that_was_rolled_back_is_noticed_at_the_start(
    tmp_path: Path, witnessed: Settings
) -> None:
    path = tmp_path / "a.db"
    async with checked_store(f"sqlite:///{path}", witnessed) as store:
        await fill(store, 3)
    shutil.copy(path, tmp_path / "backup.db")
    async with checked_store(f"sqlite:///{path}", witnessed) as store:
        seen = await fill(store, 1)
    os.replace(tmp_path / "backup.db", path)
    async with checked_store(f"sqlite:///{path}", witnessed) as store:
        await is_ahead_of(store, seen)
        assert await store.get(b"2") is not None


async def test_a_restored_database_is_noticed_at_the_start(durable_url: str, witnessed: Settings) -> None:
    async with checked_store(durable_url, witnessed) as store:
        seen = await fill(store, 5)
    await forget_after(durable_url, 4)
    async with checked_store(durable_url, witnessed) as store:
        await is_ahead_of(store, seen)


async def test_a_database_that_only_went_on_is_left_alone(durable_url: str, witnessed: Settings) -> None:
    for settings in (witnessed, FAST, witnessed, witnessed):
        async with checked_store(durable_url, settings) as store:
            await fill(store, 3)
            assert (await store.status()).epoch == 1


async def listed(store: Store) -> Revision:
    return (await store.range(ALL, consistent=False)).revision


async def compared(store: Store) -> Revision:
    return (await store.txn(Txn(then=(Range(range=ALL),)))).revision


async def missed(store: Store) -> Revision:
    with pytest.raises(KeyNotFound) as refusal:
        await store.delete(b"never")
    return refusal.value.revision


async def reported(store: Store) -> Revision:
    return (await store.status()).current_revision


async def compacted(store: Store) -> Revision:
    return await store.compact()


@pytest.mark.parametrize("ask", [listed, compared, missed, reported, compacted])
async def test_the_witness_knows_of_every_answer_also_before_it_is_applied(
    tmp_path: Path, witnessed: Settings, ask: Callable[[Store], Awaitable[Revision]]
) -> None:
    url, far = f"sqlite:///{tmp_path / 'a.db'}", 1000.0
    lagging = replace(witnessed, index_bytes_max=0, poll_interval_s=far, poll_interval_notified_s=far)
    async with checked_store(url) as other:
        store_id = (await other.status()).store_id
        await fill(other, 1)
        async with checked_store(url, lagging) as store:
            told = await fill(other, 5)
            assert await ask(store) == told
        assert Witness.open(str(tmp_path / "witness"), store_id=store_id).seen == told


async def told(store: Store) -> object:
    return await store.put(b"x", b"")


async def asked(store: Store) -> object:
    return await store.get(b"0")


@pytest.mark.parametrize("notice", [told, asked])
async def test_a_running_process_that_has_seen_more_begins_a_new_epoch(
    durable_url: str, notice: Callable[[Store], object]
) -> None:
    async with checked_store(durable_url) as store:
        seen = await fill(store, 5)
        watch = store.watch(KeyRange.prefix(b"never"))
        await forget_after(durable_url, 4)
        await notice(store)  # type: ignore[misc]
        with pytest.raises(Compacted):
            await watch.next(timeout_s=5)
        assert await store.get(b"4") is None
        await is_ahead_of(store, seen)


async def test_nothing_is_told_of_what_the_database_does_not_know(durable_url: str) -> None:
    from_database = replace(FAST, index_bytes_max=0, ring_bytes_max=0)
    async with checked_store(durable_url, from_database) as store:
        seen = await fill(store, 5)
        watch = store.watch(ALL, start=Revision(2))
        await forget_after(durable_url, 4)
        for asked in (store.range(ALL, at=seen), store.count(ALL, at=seen), watch.next()):
            with pytest.raises((StorageUnavailable, Compacted)):
                await asked
        assert watch.progress <= 4


async def test_processes_that_notice_together_begin_one_epoch(durable_url: str) -> None:
    async with checked_store(durable_url) as one, checked_store(durable_url) as other:
        seen = await fill(one, 5)
        await other.current_revision()
        await forget_after(durable_url, 4)
        await asyncio.gather(one.current_revision(), other.current_revision(), other.put(b"a", b""))
        await is_ahead_of(one, seen)


async def test_revisions_of_a_lost_epoch_are_not_used_again(durable_url: str) -> None:
    async with checked_store(durable_url) as store:
        await fill(store, 5)
        await forget_after(durable_url, 4)
        lost = await fill(store, 5)
    await forget_after(durable_url, 3)
    await forget_epoch(durable_url)
    await start_epoch(durable_url, reason="restored from a backup of before")
    async with checked_store(durable_url) as store:
        assert await store.current_revision() > lost


async def forget_epoch(url: str) -> None:
    """A backup from before the last epoch."""
    statements = ("DELETE FROM epoch WHERE number > 1", "DELETE FROM floor")
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as raw:
            raw.executescript(";".join(statements))
        return
    connection = await asyncpg.connect(url)
    for statement in statements:
        await connection.execute(statement)
    await connection.close()


def test_a_witness_keeps_what_any_process_has_seen(tmp_path: Path) -> None:
    path, store_id = str(tmp_path / "witness"), "0" * 36
    one, other = (Witness.open(path, store_id=store_id) for _ in range(2))
    one.saw(Revision(9))
    other.saw(Revision(5))
    assert Witness.open(path, store_id=store_id).seen == 9
    one.close()
    one.close()
    other.close()


def test_a_closed_witness_refuses_what_it_cannot_write_down(tmp_path: Path) -> None:
    # Seed 2000257 of the simulation: a read was answered while its store was being closed.
    witness = Witness.open(str(tmp_path / "witness"), store_id="0" * 36)
    witness.saw(Revision(9))
    witness.close()
    witness.saw(Revision(9))
    with pytest.raises(StoreClosed):
        witness.saw(Revision(10))


def test_a_witness_of_another_store_is_begun_anew(tmp_path: Path) -> None:
    path = str(tmp_path / "witness")
    Witness.open(path, store_id="0" * 36).saw(Revision(9))
    assert Witness.open(path, store_id="1" * 36).seen == 0


@pytest.mark.parametrize("content", [b"?", b"kinepy witness 1\nstore ", b"x" * 300])
def test_a_damaged_witness_is_not_believed(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "witness"
    path.write_bytes(content)
    with pytest.raises(DatabaseUnusable, match="damaged"):
        Witness.open(str(path), store_id="0" * 36)


async def test_a_witness_in_a_folder_that_is_gone_is_an_error_with_advice(tmp_path: Path) -> None:
    settings = replace(FAST, witness_path=str(tmp_path / "gone" / "witness"))
    with pytest.raises(DatabaseUnusable, match="data folder"):
        async with open_store(f"sqlite:///{tmp_path / 'a.db'}", settings):
            pass
