"""What happens to servers and databases while clients work; every trouble ends with the thing working again."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from random import Random

import asyncpg

from tests.history.workload import Workload
from tests.postgres_server import PostgresServer
from tests.processes import ServerProcess

STRIKES = int(os.environ.get("KINEPY_STRIKES", "2"))
"""how often a test strikes; more of it is for long runs"""
SEED = int(os.environ.get("KINEPY_SEED", "1"))
BETWEEN = 60
"""acknowledged writes between two strikes, at most"""

Strike = Callable[[Random], Awaitable[None]]


async def strikes(work: Workload, strike: Strike) -> None:
    """Strike again and again, at random moments of the load, and see that it goes on after each."""
    chance = Random(work.seed)
    for _ in range(STRIKES):
        await work.progress(chance.randrange(1, BETWEEN))
        await strike(chance)
    await work.progress(BETWEEN)


def kill(servers: list[ServerProcess]) -> Strike:
    """kill -9 of a server, and its restart."""

    async def strike(chance: Random) -> None:
        server = chance.choice(servers)
        await asyncio.to_thread(server.kill, signal.SIGKILL)
        await asyncio.to_thread(server.restart)

    return strike


def pause(servers: list[ServerProcess], *, longest_s: float) -> Strike:
    """A server is stopped for a while, as a machine that is moved or short of memory."""

    async def strike(chance: Random) -> None:
        server = chance.choice(servers)
        os.killpg(server.pid, signal.SIGSTOP)
        try:
            await asyncio.sleep(chance.uniform(0.1, longest_s))
        finally:
            os.killpg(server.pid, signal.SIGCONT)

    return strike


def restart_postgres(postgres: PostgresServer, *, immediate: bool) -> Strike:
    """PostgreSQL is stopped, in good order or as by a crash, and started."""

    async def strike(chance: Random) -> None:
        await asyncio.to_thread(postgres.stop, immediate=immediate)
        await asyncio.sleep(chance.uniform(0, 0.5))
        await asyncio.to_thread(postgres.start)

    return strike


def pause_postgres(postgres: PostgresServer, *, longest_s: float) -> Strike:
    """All of PostgreSQL's processes are stopped for a while."""

    async def strike(chance: Random) -> None:
        with postgres.paused():
            await asyncio.sleep(chance.uniform(0.1, longest_s))

    return strike


def terminate_backends(url: str) -> Strike:
    """An administrator ends every connection to the database."""

    async def strike(_: Random) -> None:
        connection = await asyncpg.connect(url)
        try:
            others = "datname = current_database() AND pid <> pg_backend_pid()"
            await connection.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")
        finally:
            await connection.close()

    return strike
