"""Faults at random moments under load: what clients and watchers saw is linearizable and complete, by the log.

KINEPY_STRIKES says how many faults a test makes, KINEPY_SEED where they fall.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from kinepy import Settings, open_store
from tests.faults.databases import Database
from tests.faults.proxy import Cut, Proxy
from tests.faults.trouble import (
    SEED,
    STRIKES,
    Strike,
    kill,
    pause,
    pause_postgres,
    restart_postgres,
    strikes,
    terminate_backends,
)
from tests.history.check import problems_of
from tests.history.faces import PREFIX, HttpFace, LibraryFace
from tests.history.logs import CONFIGMAPS, read_log
from tests.history.records import Row
from tests.history.watching import follow_http, follow_store
from tests.history.workload import Workload, summary
from tests.postgres_server import PostgresServer
from tests.processes import ServerProcess

pytestmark = pytest.mark.timeout(60 + 20 * STRIKES)

CLIENTS = 16
Servers = list[ServerProcess]


@pytest.fixture
def servers(database: Database, tmp_path: Path) -> Iterator[Servers]:
    """Two servers on one database, which loses patience with those that stand still."""
    url = database.url or f"sqlite:///{tmp_path / 'shared.db'}"
    options = ("--controllers", "none", "--set", "idle_in_transaction_timeout_s=0.4")
    with ExitStack() as stack:
        yield [
            stack.enter_context(ServerProcess(tmp_path / name, database=url, insecure=True, options=options))
            for name in ("one", "two")
        ]


def judge(work: Workload, rows: list[Row]) -> None:
    """Print what happened, and fail with what is wrong."""
    after = work.history.watchers[0].after
    print(f"seed {work.seed}: {summary(work.history)}, {len(rows)} rows")
    before = [row for row in rows if row.revision <= after]
    problems = problems_of(work.history, rows[len(before) :], before)
    assert not problems, (f"KINEPY_SEED={work.seed}", problems[:10])


async def run(servers: Servers, strike: Strike) -> None:
    """Load both servers and watch through both while something strikes; then judge."""
    work = Workload(SEED)
    faces = [HttpFace(servers[number % 2].url) for number in range(CLIENTS)]
    follows = [partial(follow_http, servers[number % 2].url) for number in range(4)]
    await work.run(faces, follows, strikes(work, strike))
    assert servers[0].database is not None
    judge(work, await read_log(servers[0].database, prefix=CONFIGMAPS))


async def test_servers_are_killed(servers: Servers, database: Database) -> None:
    await run(servers, kill(servers))
    database.check(servers[0])


async def test_servers_are_stopped_for_a_while(servers: Servers) -> None:
    await run(servers, pause(servers, longest_s=1.0))


POSTGRES: dict[str, Callable[[PostgresServer, str], Strike]] = {
    "restarted": lambda postgres, url: restart_postgres(postgres, immediate=False),
    "crashed": lambda postgres, url: restart_postgres(postgres, immediate=True),
    "stopped for a while": lambda postgres, url: pause_postgres(postgres, longest_s=1.5),
    "connections ended": lambda postgres, url: terminate_backends(url),
}


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
@pytest.mark.parametrize("fault", POSTGRES)
async def test_postgres_fails(servers: Servers, own_postgres: PostgresServer, fault: str) -> None:
    assert servers[0].database is not None
    await run(servers, POSTGRES[fault](own_postgres, servers[0].database))


# --- the network between the store and PostgreSQL


@pytest.fixture
async def proxies(own_postgres: PostgresServer) -> AsyncIterator[list[Proxy]]:
    url = own_postgres.create_database()
    async with Proxy(url) as one, Proxy(url) as two:
        yield [one, two]


NETWORK: dict[str, Callable[[Proxy], Strike]] = {
    "cut": lambda proxy: proxy.cut_strike(),
    "cut around COMMIT": lambda proxy: proxy.commit_strike(list(Cut)),
    "silent": lambda proxy: proxy.silence_strike(longest_s=1.5),
    "slow": lambda proxy: proxy.delay_strike(longest_s=0.2),
}


@pytest.mark.parametrize("fault", NETWORK)
async def test_the_network_fails(proxies: list[Proxy], fault: str) -> None:
    settings = Settings(reconnect_backoff_max_s=0.2)
    work = Workload(SEED)
    async with open_store(proxies[0].url, settings) as one, open_store(proxies[1].url, settings) as two:
        stores = [one, two]
        faces = [LibraryFace(stores[number % 2]) for number in range(CLIENTS)]
        follows = [partial(follow_store, stores[number % 2]) for number in range(4)]
        await work.run(faces, follows, strikes(work, NETWORK[fault](proxies[0])))
        judge(work, await read_log(proxies[0].target, prefix=PREFIX))
