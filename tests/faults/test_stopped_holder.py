"""A process that is stopped while it holds the order lock, and what the others do."""

import asyncio
import fcntl
import os
import time
from pathlib import Path

import pytest

from kinepy import Settings, open_store
from kinepy.errors import StorageUnavailable
from tests.faults.lock_holder import stopped_holder
from tests.postgres_server import PostgresServer
from tests.processes import ServerProcess, configmap, configmaps, message

SLACK_S = 5.0
"""these machines are busy"""


@pytest.mark.parametrize("idle_s", [1.0, 3.0])
async def test_on_postgres_it_loses_the_lock_after_the_set_time(
    own_postgres: PostgresServer, idle_s: float
) -> None:
    url = own_postgres.create_database()
    async with open_store(url, Settings(lock_timeout_s=60)) as store:
        with stopped_holder(url, idle_s=idle_s):
            began = time.monotonic()
            await store.put(b"a", b"1")
            assert time.monotonic() - began < idle_s + SLACK_S
        assert await store.get(b"a") is not None


async def test_on_sqlite_the_others_are_refused_in_time_and_go_on_when_it_is_gone(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    async with open_store(url, Settings(lock_timeout_s=1)) as store:
        await store.put(b"a", b"0")
        with stopped_holder(url) as holder:
            for _ in range(2):
                began = time.monotonic()
                with pytest.raises(StorageUnavailable, match="held the write lock"):
                    await store.put(b"a", b"1")
                assert 0.9 < time.monotonic() - began < 1 + SLACK_S
                found = await store.get(b"a")
                assert found is not None
                assert found.value == b"0", "reads go on"
            write = asyncio.create_task(store.put(b"a", b"2"))
            holder.kill()
            assert (await write).version == 2


@pytest.mark.timeout(90)
def test_over_http_the_others_answer_503_and_go_on_when_it_is_gone(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data", insecure=True) as server, server.client(timeout_s=60) as client:
        with stopped_holder(f"sqlite:///{server.data / 'kinepy.db'}"):
            began = time.monotonic()
            answer = client.send("POST", configmaps(), configmap("a"))
            message(answer, 503, "ServiceUnavailable")
            assert int(answer.headers["retry-after"]) >= 1
            assert time.monotonic() - began < Settings().lock_timeout_s + SLACK_S
            assert client.get(configmaps()).status_code == 200
        client.create("a")


async def test_who_stands_still_with_the_witness_is_passed(tmp_path: Path) -> None:
    witness = str(tmp_path / "witness")
    async with open_store(f"sqlite:///{tmp_path / 'a.db'}", Settings(witness_path=witness)) as store:
        descriptor = os.open(witness, os.O_RDWR)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            async with asyncio.timeout(SLACK_S):
                made = await store.put(b"a", b"0")
            assert b"seen %020d\n" % made.mod_revision in Path(witness).read_bytes()
        finally:
            os.close(descriptor)


async def test_who_stands_still_at_the_head_of_the_queue_is_passed(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    async with open_store(f"sqlite:///{path}") as store:
        await store.put(b"a", b"0")
        descriptor = os.open(f"{path}-queue", os.O_RDWR)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            began = time.monotonic()
            for _ in range(50):
                await store.put(b"a", b"1")
            assert time.monotonic() - began < 1 + SLACK_S
        finally:
            os.close(descriptor)
