"""kill -9 under load: every acknowledged create is there after the restart, no revision is used twice."""

import asyncio
import os
import random
import signal
from pathlib import Path

import pytest

from tests.faults.databases import Database
from tests.faults.writers import Load, check_outcomes
from tests.processes import ServerProcess, run_kinepy

KILLS = int(os.environ.get("KINEPY_KILLS", "3"))
SEED = int(os.environ.get("KINEPY_SEED", "1"))


async def kill_under_load(server: ServerProcess, prefix: str, *, after: int) -> Load:
    """Load the server with 64 clients and kill it after so many acknowledged creates."""
    load = Load(server.url, prefix)
    async with asyncio.TaskGroup() as group:
        group.create_task(load.run())
        await load.acknowledged(after)
        server.kill(signal.SIGKILL)
    return load


@pytest.mark.timeout(60 + 30 * KILLS)
async def test_kill_9_under_load_loses_nothing_acknowledged(database: Database, tmp_path: Path) -> None:
    chance = random.Random(SEED)
    seen: dict[int, str] = {}
    with ServerProcess(tmp_path / "data", database=database.url, insecure=True) as server:
        for kill in range(KILLS):
            load = await kill_under_load(server, f"k{kill}", after=chance.randrange(64, 600))
            server.restart()
            stored = await check_outcomes(load.outcomes, server.url, f"k{kill}-")
            newest = max(seen, default=0)
            assert min(stored.values()) > newest, "a revision of before the kill was used again"
            assert max(stored.values()) < 2**20, "a kill was taken for a restore, and began a new epoch"
            seen |= {revision: name for name, revision in stored.items()}
            database.check(server)
        assert server.stop() == 0


@pytest.mark.timeout(90)
async def test_sigterm_under_load_ends_cleanly(database: Database, tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data", database=database.url, insecure=True) as server:
        load = Load(server.url, "t")
        async with asyncio.TaskGroup() as group:
            group.create_task(load.run())
            await load.acknowledged(200)
            assert await asyncio.to_thread(server.stop) == 0
        server.restart()
        await check_outcomes(load.outcomes, server.url, "t-")
        database.check(server)


def test_check_names_the_damage(tmp_path: Path) -> None:
    """The check that the other tests rely on does see a broken log."""
    import sqlite3

    with ServerProcess(tmp_path / "data", insecure=True) as server, server.client() as client:
        for i in range(5):
            client.create(f"c{i}")
        server.stop()
        with sqlite3.connect(server.data / "kinepy.db") as connection:
            connection.execute("DELETE FROM log WHERE revision = (SELECT max(revision) - 2 FROM log)")
        connection.close()
    done = run_kinepy("check", "--data", str(tmp_path / "data"))
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
