"""A standby of a PostgreSQL server of the tests: streaming replication on loopback, and its promotion."""

import asyncio
import shutil
from pathlib import Path

import asyncpg

from tests.postgres_server import PostgresServer, run_apart

CAUGHT_UP_S = 30.0


class Standby(PostgresServer):
    """Begins as a copy of the primary and follows it, until it is promoted."""

    def __init__(self, primary: PostgresServer) -> None:
        super().__init__()
        self._primary = primary

    def _initialise(self) -> None:
        data: Path = self._path("data")
        data.mkdir(mode=0o700)
        self._path("log.txt").touch()
        if self._user is not None:
            for path in (data, self._path("log.txt")):
                shutil.chown(path, self._user)
        source = self._primary.url("postgres")
        self._run(
            self._program("pg_basebackup"), "-d", source, "-D", str(data), "-R", "-X", "stream", "-c", "fast"
        )

    def url_of(self, url: str) -> str:
        """Where a database of the primary is here."""
        return self.url(url.rpartition("/")[2])

    def promote(self) -> None:
        """Take over."""
        self._pg_ctl("promote", "-w")


def be_synchronous(primary: PostgresServer) -> None:
    """From now on nothing is committed on the primary before a standby has it."""

    async def work() -> None:
        connection = await asyncpg.connect(primary.url("postgres"))
        await connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        await connection.execute("SELECT pg_reload_conf()")
        await connection.close()

    run_apart(work())


async def caught_up(primary: PostgresServer, *, synchronous: bool = False) -> None:
    """Wait until the standby has all that the primary has."""
    connection = await asyncpg.connect(primary.url("postgres"))
    condition = "replay_lsn >= pg_current_wal_lsn()" + (" AND sync_state = 'sync'" if synchronous else "")
    following = f"SELECT count(*) FROM pg_stat_replication WHERE {condition}"
    try:
        async with asyncio.timeout(CAUGHT_UP_S):
            while not await connection.fetchval(following):
                await connection.execute("SELECT pg_sleep(0.02)")
    finally:
        await connection.close()
