"""A PostgreSQL server that took over, or was restored, may lack commits: the store jumps ahead."""

import asyncio
import shutil
from dataclasses import replace

import asyncpg
import pytest

from kinepy import KeyRange, open_store
from kinepy.errors import Compacted
from tests.contract.stores import FAST
from tests.contract.test_p12_restore import forget_after
from tests.postgres_server import PostgresServer, server_user


async def execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def start_a_new_timeline(server: PostgresServer) -> None:
    """Recover as from an archive: PostgreSQL ends that as a promotion, on a timeline of its own."""
    await execute(server.url("postgres"), "ALTER SYSTEM SET restore_command = 'false'")
    server.stop()
    signal = server._path("data") / "recovery.signal"
    signal.touch()
    if (user := server_user()) is not None:
        shutil.chown(signal, user)
    server.start()
    connection = await asyncpg.connect(server.url("postgres"))
    async with asyncio.timeout(30):
        while await connection.fetchval("SELECT pg_is_in_recovery()"):
            pass
    await connection.close()


async def test_a_new_timeline_begins_a_new_epoch_under_a_running_store(own_postgres: PostgresServer) -> None:
    url = own_postgres.create_database()
    async with open_store(url, FAST) as store:
        before = await store.put(b"a", b"1")
        watch = store.watch(KeyRange.everything())
        await start_a_new_timeline(own_postgres)
        after = await store.put(b"a", b"2")
        assert after.mod_revision > before.mod_revision + 1
        assert (after.version, (await store.status()).epoch) == (2, 2)
        with pytest.raises(Compacted):
            await watch.next(timeout_s=5)
        assert (await store.put(b"a", b"3")).mod_revision == after.mod_revision + 1


async def test_a_new_timeline_begins_a_new_epoch_at_the_start(own_postgres: PostgresServer) -> None:
    url = own_postgres.create_database()
    async with open_store(url, FAST) as store:
        before = await store.put(b"a", b"1")
    await start_a_new_timeline(own_postgres)
    for _ in range(2):
        async with open_store(url, FAST) as store:
            assert (await store.status()).epoch == 2
            assert await store.current_revision() > before.mod_revision + 1


async def test_a_restart_is_no_new_timeline(own_postgres: PostgresServer) -> None:
    url = own_postgres.create_database()
    async with open_store(url, FAST) as store:
        before = await store.put(b"a", b"1")
        own_postgres.restart(immediate=True)
        after = await store.put(b"a", b"2")
        assert after.mod_revision == before.mod_revision + 1


async def test_a_new_timeline_of_synchronous_standbys_is_no_new_epoch(own_postgres: PostgresServer) -> None:
    url, settings = own_postgres.create_database(), replace(FAST, postgres_standbys="synchronous")
    async with open_store(url, settings) as store:
        before = await store.put(b"a", b"1")
        await start_a_new_timeline(own_postgres)
        after = await store.put(b"a", b"2")
        assert after.mod_revision == before.mod_revision + 1
        seen = (await store.put(b"a", b"3")).mod_revision
        # What was seen is compared all the same.
        await forget_after(url, after.mod_revision)
        assert (await store.put(b"a", b"4")).mod_revision > seen + 1
