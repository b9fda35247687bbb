"""What only PostgreSQL can do: refuse at the door, and lose its connections."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from kinepy.drivers.base import Driver
from kinepy.errors import (
    DatabaseAccessDenied,
    DatabaseNotKinepy,
    DatabaseReadOnly,
    DatabaseUnreachable,
    DatabaseUnusable,
    StorageUnavailable,
)
from kinepy.migrate import migrate
from kinepy.settings import Settings
from tests.backends import CreatePostgres
from tests.drivers.drivers import FAST, Log, append, opened
from tests.postgres_server import free_port

KINEPYS = "datname = current_database() AND application_name = 'kinepy'"


@pytest.fixture
def url(create_postgres: CreatePostgres) -> str:
    return create_postgres(True)


@asynccontextmanager
async def administrator(url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


async def end_sessions(url: str, *, where: str = "true") -> None:
    """Cut connections of kinepy, as a restart of the server does, and wait until they are gone."""
    chosen = f"{KINEPYS} AND {where}"
    async with administrator(url) as connection:
        await connection.execute(
            f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE {chosen}"
        )


def one_put(revision: int = 1) -> Log:
    log = Log(revision=revision)
    log.put(b"a")
    return log


def replaced(
    url: str, *, user: str | None = None, password: str | None = None, port: int | None = None
) -> str:
    parts = urlsplit(url)
    login = f"{user or parts.username}:{password or parts.password}"
    return urlunsplit(parts._replace(netloc=f"{login}@{parts.hostname}:{port or parts.port}"))


WAYS: list[tuple[str, Callable[[str], str], type[DatabaseUnusable], str]] = [
    ("port", lambda url: replaced(url, port=free_port()), DatabaseUnreachable, "cannot be reached"),
    (
        "password",
        lambda url: replaced(url, password="wrong"),
        DatabaseAccessDenied,
        "check user and password",
    ),
    ("user", lambda url: replaced(url, user="nobody-there"), DatabaseAccessDenied, "check user and password"),
    ("database", lambda url: f"{url}_not_there", DatabaseUnreachable, "create it with createdb"),
    ("host", lambda _: "postgresql://u:p@kinepy.invalid/n", DatabaseUnreachable, "cannot be reached"),
]


@pytest.mark.parametrize(("name", "change", "error", "text"), WAYS, ids=[way[0] for way in WAYS])
async def test_a_closed_door_is_explained_in_a_line(
    url: str, name: str, change: Callable[[str], str], error: type[DatabaseUnusable], text: str
) -> None:
    with pytest.raises(error, match=text) as raised:
        await migrate(change(url), FAST)
    assert "\n" not in str(raised.value)
    assert "tests@" not in str(raised.value)


async def test_a_missing_right_is_explained(create_postgres: CreatePostgres) -> None:
    empty = create_postgres(False)
    async with administrator(empty) as connection:
        await connection.execute("REVOKE CREATE ON SCHEMA public FROM public")
        await connection.execute("DROP ROLE IF EXISTS humble")
        await connection.execute("CREATE ROLE humble LOGIN PASSWORD 'humble'")
    with pytest.raises(DatabaseAccessDenied, match="GRANT CREATE"):
        await migrate(replaced(empty, user="humble", password="humble"), FAST)


async def test_a_read_only_server_is_refused(url: str) -> None:
    async with administrator(url) as connection:
        name = await connection.fetchval("SELECT current_database()")
        await connection.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    with pytest.raises(DatabaseReadOnly, match="primary"):
        async with opened(url):
            pass


async def test_other_tables_of_the_same_names_are_refused(create_postgres: CreatePostgres) -> None:
    url = create_postgres(False)
    async with administrator(url) as connection:
        await connection.execute("CREATE TABLE log (line TEXT)")
    with pytest.raises(DatabaseNotKinepy, match="something else"):
        await migrate(url, FAST)


async def test_two_schemas_hold_two_stores(url: str) -> None:
    apart = Settings(postgres_schema="a b\"'c", lock_timeout_s=0.3)
    async with opened(url) as one, opened(url, apart) as other:
        async with one.write():
            await append(other, one_put().rows)
        assert (await one.current(), await other.current()) == (1, 2)


async def test_it_works_without_a_statement_cache(url: str) -> None:
    async with opened(url, Settings(postgres_statement_cache=0)) as driver:
        await append(driver, one_put().rows)
        assert await driver.current() == 2


async def test_lost_idle_connections_are_replaced_unnoticed(url: str) -> None:
    async with opened(url) as driver:
        await append(driver, one_put().rows)
        async with driver.read() as tx:
            await tx.current()
        await driver.current()
        await end_sessions(url)
        await append(driver, one_put(2).rows)
        async with driver.read() as tx:
            assert await tx.current() == 3
        assert await driver.current() == 3


async def test_a_connection_lost_before_the_commit_changed_nothing(url: str) -> None:
    async with opened(url) as driver:
        with pytest.raises(StorageUnavailable):
            async with driver.write() as tx:
                await tx.append(one_put().rows)
                await end_sessions(url, where="state = 'idle in transaction'")
                await tx.current()
        assert await driver.current() == 1
        await append(driver, one_put().rows)


async def settle(driver: Driver) -> None:
    """Wait until it listens and has nothing to tell."""
    while await driver.wait_for_append(timeout_s=0.2):
        pass


async def heard(driver: Driver, writer: Driver, revision: int) -> bool:
    """Whether a commit of one driver wakes the other within seconds."""
    await settle(driver)
    await append(writer, one_put(revision).rows)
    return await driver.wait_for_append(timeout_s=5)


async def test_a_lost_listener_comes_back(url: str) -> None:
    async with opened(url) as driver, opened(url) as writer:
        assert await heard(driver, writer, 1)
        await end_sessions(url)
        # While it is deaf it says at once that there may be something.
        assert await driver.wait_for_append(timeout_s=5)
        assert await heard(driver, writer, 2)


async def test_the_commit_of_a_failed_transaction_is_not_taken_for_one(url: str) -> None:
    async with opened(url) as driver:
        with pytest.raises(StorageUnavailable, match="earlier statement"):
            async with driver.write() as tx:
                await tx.append(one_put().rows)
                with pytest.raises(asyncpg.PostgresError):
                    await tx._connection.execute("SELECT no_such_column")  # type: ignore[attr-defined]
        assert await driver.current() == 1


async def test_every_driver_closes_all_its_connections(url: str) -> None:
    async with opened(url) as driver:
        await append(driver, one_put().rows)
        async with driver.read() as tx, driver.maintenance():
            await tx.current()
    async with administrator(url) as connection:
        async with asyncio.timeout(5):
            while await connection.fetchval(f"SELECT count(*) FROM pg_stat_activity WHERE {KINEPYS}"):
                pass


async def set_default(url: str, name: str, value: str) -> None:
    """What every new connection to the database begins with."""
    async with administrator(url) as connection:
        await connection.execute(f"ALTER DATABASE {urlsplit(url).path[1:]} SET {name} = '{value}'")


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
async def test_what_is_read_under_the_lock_is_newer_than_the_wait_for_it(url: str, level: str) -> None:
    await set_default(url, "default_transaction_isolation", level)
    async with opened(url) as one, opened(url) as other:

        async def second() -> int:
            async with other.write() as tx:
                return tx.revision

        async with one.write() as tx:
            await tx.append(one_put().rows)
            waiting = asyncio.create_task(second())
            async with administrator(url) as connection, asyncio.timeout(5):
                while not await connection.fetchval(
                    "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory'"
                ):
                    pass
        assert await waiting == 2


@pytest.mark.parametrize(("default", "used"), [("off", "on"), ("remote_write", "remote_write")])
async def test_what_is_acknowledged_is_on_disk(url: str, default: str, used: str) -> None:
    await set_default(url, "synchronous_commit", default)
    async with opened(url) as driver, driver.write() as tx:
        connection = tx._connection  # type: ignore[attr-defined]
        assert await connection.fetchval("SHOW synchronous_commit") == used


async def test_the_right_to_compact_is_given_back_by_whoever_is_cancelled(url: str) -> None:
    async with opened(url) as one, opened(url) as other:
        async with one.maintenance():
            pass
        for rounds in range(20):
            maintenance = one.maintenance()
            entering = asyncio.ensure_future(maintenance.__aenter__())
            for _ in range(rounds):
                await asyncio.sleep(0)
            entering.cancel()
            await asyncio.wait([entering])
            if not entering.cancelled():
                await maintenance.__aexit__(None, None, None)
        async with other.maintenance() as held:
            assert held is not None
