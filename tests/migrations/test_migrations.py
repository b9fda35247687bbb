"""The migrations lead to the tables, whoever runs them and however often."""

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.ext.asyncio import create_async_engine

from kinepy import migrations_folder as locator
from kinepy.clock import SystemClock
from kinepy.drivers.sqlite.memory import create_in_memory
from kinepy.errors import SchemaNewer
from kinepy.migrate import migrate, run_alembic
from kinepy.sql.prepare import create_schema
from kinepy.sql.tables import SCHEMA_VERSIONS, VERSION_TABLE, metadata
from tests.backends import DURABLE_BACKENDS, Backend, CreatePostgres, DatabaseMaker


@pytest.fixture(params=DURABLE_BACKENDS, ids=lambda backend: backend.name)
def empty_url(request: pytest.FixtureRequest, databases: DatabaseMaker) -> str:
    backend: Backend = request.param
    return databases.fresh_url(backend, migrated=False)


async def inspected(url: str, look: Callable[[sa.Connection], Any]) -> Any:
    """Run a function on a synchronous connection to a database."""
    if url.startswith("sqlite"):
        engine = sa.create_engine(url)
        with engine.connect() as connection:
            found = look(connection)
        engine.dispose()
        return found
    async_engine = create_async_engine(url.replace("postgresql:", "postgresql+asyncpg:"))
    async with async_engine.connect() as async_connection:
        found = await async_connection.run_sync(look)
    await async_engine.dispose()
    return found


def differences(connection: sa.Connection) -> list[Any]:
    options = {"compare_type": True, "version_table": VERSION_TABLE}
    found: list[Any] = compare_metadata(MigrationContext.configure(connection, opts=options), metadata)
    return found


async def test_the_migrations_make_the_tables(empty_url: str) -> None:
    assert await migrate(empty_url)
    assert await inspected(empty_url, differences) == []


async def test_migrating_twice_does_nothing(empty_url: str) -> None:
    assert await migrate(empty_url)
    assert not await migrate(empty_url)


async def test_many_may_migrate_at_once(empty_url: str) -> None:
    results = await asyncio.gather(*(migrate(empty_url) for _ in range(5)))
    assert sorted(results) == [False] * 4 + [True]


def test_many_processes_may_migrate_at_once(empty_url: str) -> None:
    code = f"import asyncio; from kinepy.migrate import migrate; print(asyncio.run(migrate({empty_url!r})))"
    running = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    outputs = sorted(process.communicate(timeout=30)[0].strip() for process in running)
    assert outputs == ["False", "False", "True"]


async def set_version(url: str, version: str) -> None:
    statement = f"UPDATE {VERSION_TABLE} SET version_num = '{version}'"
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as raw:
            raw.execute(statement)
            raw.commit()
        return
    connection = await asyncpg.connect(url)
    await connection.execute(statement)
    await connection.close()


async def test_a_schema_of_a_newer_kinepy_is_refused(empty_url: str) -> None:
    await migrate(empty_url)
    await set_version(empty_url, "9999")
    with pytest.raises(SchemaNewer, match="upgrade kinepy"):
        await migrate(empty_url)


async def test_a_failed_migration_leaves_nothing_behind(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(connection: sa.Connection) -> None:
        run_alembic(connection)
        raise RuntimeError("power failure")

    monkeypatch.setattr("kinepy.migrate.run_alembic", fails)
    with pytest.raises(RuntimeError):
        await migrate(empty_url)
    assert await inspected(empty_url, lambda connection: sa.inspect(connection).get_table_names()) == []
    monkeypatch.undo()
    assert await migrate(empty_url)


def test_the_program_knows_every_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(locator.migrations_folder()))
    scripts = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    assert tuple(reversed(scripts)) == SCHEMA_VERSIONS


def schema_of(raw: sqlite3.Connection) -> dict[str, list[Any]]:
    """Columns and indexes of every table but Alembic's, as SQLite sees them."""
    tables = [row[0] for row in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {
        table: [
            raw.execute(f"PRAGMA table_xinfo('{table}')").fetchall(),
            raw.execute(f"PRAGMA table_list('{table}')").fetchall(),
            sorted(row[1:] for row in raw.execute(f"PRAGMA index_list('{table}')")),
        ]
        for table in tables
        if table != VERSION_TABLE
    }


async def test_a_database_in_memory_is_what_the_migrations_make(tmp_path: Path) -> None:
    await migrate(f"sqlite:///{tmp_path}/a.db")
    with (
        closing(sqlite3.connect(tmp_path / "a.db")) as file,
        closing(create_in_memory(SystemClock())) as memory,
    ):
        assert schema_of(file) == schema_of(memory)


async def test_tables_on_postgres_are_what_the_migrations_make(create_postgres: CreatePostgres) -> None:
    migrated = await asyncpg.connect(create_postgres(True))
    made = await asyncpg.connect(create_postgres(False))
    try:
        for statement in create_schema(metadata, "postgresql"):
            await made.execute(statement)
        looks = (
            "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename <> 'kinepy_version' ORDER BY 1",
            "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace"
            " AND conname NOT LIKE 'kinepy%' ORDER BY 1",
            "SELECT relname, reloptions FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"
            " AND relname <> 'kinepy_version' ORDER BY 1",
        )
        for look in looks:
            assert await migrated.fetch(look) == await made.fetch(look)
    finally:
        await migrated.close()
        await made.close()


async def test_a_downgrade_leads_back(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    await migrate(url)

    def down(connection: sa.Connection) -> list[str]:
        from alembic import command

        config = Config()
        config.set_main_option("script_location", str(locator.migrations_folder()))
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
        return sa.inspect(connection).get_table_names()

    assert await inspected(url, down) == [VERSION_TABLE]


def test_the_migrations_are_found_inside_an_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = tmp_path / "kinepy" / "_migrations"
    inside.mkdir(parents=True)
    (inside / "env.py").touch()
    monkeypatch.setattr(locator, "__file__", str(tmp_path / "kinepy" / "migrations_folder.py"))
    assert locator.migrations_folder() == inside


def test_a_current_database_is_found_current_without_alembic(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    asyncio.run(migrate(url))
    code = (
        "import asyncio, sys; from kinepy.migrate import migrate;"
        f"asyncio.run(migrate({url!r})); print('alembic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
