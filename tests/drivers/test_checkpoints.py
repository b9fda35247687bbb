"""Moving SQLite's write-ahead log into the file."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from kinepy.clock import SystemClock
from kinepy.drivers.sqlite.checkpoint import Checkpointer
from kinepy.drivers.sqlite.connection import connect_raw
from kinepy.settings import Settings
from tests.drivers.drivers import Log, append, opened


@asynccontextmanager
async def nobody_writes() -> AsyncIterator[None]:
    yield


async def test_those_who_want_it_at_once_do_it_in_turn_by_one_connection(tmp_path: Path) -> None:
    path = tmp_path / "kinepy.db"
    log = Log()
    log.put(b"a")
    connected = []

    def connect() -> sqlite3.Connection:
        connected.append(connect_raw(str(path), Settings(), role="checkpoint"))
        return connected[-1]

    async with opened(f"sqlite:///{path}") as driver:
        await append(driver, log.rows)
        checkpointer = Checkpointer(connect, nobody_writes, SystemClock())
        await asyncio.gather(checkpointer.move(), checkpointer.move())
        await checkpointer.close()
    assert len(connected) == 1
