"""A store closes in time over a server that stands still, and a process ends over a disk that does."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kinepy import Settings, open_store
from kinepy.errors import StorageUnavailable, WriteOutcomeUnknown
from tests.postgres_server import PostgresServer

SERVING_ON_A_DISK_THAT_HANGS = """
import os, sqlite3, sys, time
real = sqlite3.connect

def connect(*args, **kwargs):
    raw = real(*args, **kwargs)

    def hang(statement):
        while statement == "COMMIT" and os.path.exists(sys.argv[-1]):
            print("hangs", flush=True)
            time.sleep(3600)

    raw.set_trace_callback(hang)
    return raw

sqlite3.connect = connect
from kinepy_server.cli.commands import app
app(sys.argv[1:-1])
"""


@pytest.mark.parametrize("write", [True, False], ids=["writing", "idle"])
async def test_a_store_closes_over_a_server_that_stands_still(
    own_postgres: PostgresServer, write: bool
) -> None:
    url = own_postgres.create_database()
    async with asyncio.timeout(30):
        async with open_store(url, Settings(lock_timeout_s=1.0)) as store:
            await store.create(b"a", b"")
            with own_postgres.paused():
                lost = asyncio.ensure_future(store.create(b"b", b"")) if write else None
                for _ in range(10):
                    await asyncio.sleep(0)
                assert bool(store._committer._running) == write
                await store.close()
        if lost is not None:
            with pytest.raises((StorageUnavailable, WriteOutcomeUnknown)):
                await lost
    assert all(task.done() for task in store._jobs.tasks)


def test_a_server_ends_over_a_disk_that_hangs(tmp_path: Path) -> None:
    hangs = tmp_path / "hangs"
    arguments = ["serve", "--data", str(tmp_path / "data"), "--listen", "127.0.0.1:0", "--insecure"]
    program = [sys.executable, "-c", SERVING_ON_A_DISK_THAT_HANGS, *arguments, "--set", "lock_timeout_s=1"]
    with subprocess.Popen(
        [*program, str(hangs)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None and server.stderr is not None
            assert "is serving" in server.stdout.readline()
            hangs.touch()
            # Some controller renews its lease, and its commit hangs.
            assert server.stdout.readline() == "hangs\n"
            server.send_signal(signal.SIGTERM)
            assert server.wait(timeout=60) == 0
            assert "does not answer" in server.stderr.read()
        finally:
            server.kill()
