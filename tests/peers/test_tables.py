"""What is not in the tables: numbers that are drawn, rows that every commit changes, copies, indexes without use."""

import sqlite3
from contextlib import closing

import asyncpg

from tests.contract.stores import checked_store

INDEXES_OF_LOG = 2
INDEXES_OF_HEAD = 2
"""Beside its key one for leases, which holds the keys that have one."""
TABLES = ("log", "head")


async def test_no_number_is_drawn_from_a_sequence(shared_url: str) -> None:
    async with checked_store(shared_url) as store:
        await store.put(b"k", b"")
    assert (
        await ask(
            shared_url,
            "SELECT name FROM sqlite_master WHERE name = 'sqlite_sequence'",
            "SELECT sequencename FROM pg_sequences",
        )
        == []
    )


async def test_a_write_touches_few_indexes(shared_url: str) -> None:
    async with checked_store(shared_url):
        pass
    found = await ask(
        shared_url,
        "SELECT m.name, i.name FROM sqlite_master m, pragma_index_list(m.name) i WHERE m.type = 'table'",
        "SELECT tablename, indexname FROM pg_indexes WHERE schemaname = current_schema()",
    )
    by_table = {table: [row for row in found if row[0] == table] for table in TABLES}
    assert len(by_table["log"]) <= INDEXES_OF_LOG
    assert len(by_table["head"]) <= INDEXES_OF_HEAD


async def test_a_value_is_stored_once_and_not_again_by_its_successor(shared_url: str) -> None:
    marker = b"stored-once-" + b"x" * 100
    async with checked_store(shared_url) as store:
        await store.put(b"k", marker)
        await store.put(b"k", b"next")
        await store.delete(b"k")
    columns = await ask(
        shared_url,
        "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE c.type = 'BLOB'",
        "SELECT table_name, column_name FROM information_schema.columns"
        " WHERE data_type = 'bytea' AND table_schema = current_schema()",
    )
    count = 0
    for table, column in columns:
        statement = f'SELECT count(*) FROM "{table}" WHERE "{column}" = '
        ((found,),) = await ask(shared_url, statement + "?", statement + "$1", marker)
        count += int(str(found))
    assert count == 1


async def ask(url: str, sqlite: str, postgres: str, *parameters: bytes) -> list[tuple[object, ...]]:
    """The rows of the statement for the database's kind."""
    if url.startswith("sqlite:///"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as raw:
            return raw.execute(sqlite, parameters).fetchall()
    connection = await asyncpg.connect(url)
    try:
        return [tuple(row) for row in await connection.fetch(postgres, *parameters)]
    finally:
        await connection.close()
