"""However long history is, an operation looks at what it asks for, and at nothing else.

Counted in what the databases do, not in time: instructions of SQLite's machine, pages that PostgreSQL touches.
"""

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from sqlalchemy.sql.elements import ClauseElement

from kinepy.sql import bulk, statements
from kinepy.sql.prepare import Prepared, prepare
from tests.backends import CreatePostgres
from tests.postgres_server import run_apart
from tests.scale.years import PREFIX, key, write_years

KEYS, FEW, MANY = 1000, 2000, 200_000
QUESTIONS: dict[str, ClauseElement] = {
    "current revision": statements.current,
    "get": statements.latest_of_key,
    "get a moment ago": statements.state_at.row,
    "list": statements.latest.bounded,
    "list, what stood a moment ago": statements.state_at.standing.bounded,
    "list, what changed since": statements.state_at.followed.bounded,
    "count": statements.count.bounded,
    "count a moment ago": statements.count_at.bounded,
    "watch": statements.history.bounded,
    "watch one key": statements.history.single,
    "compare before a write": statements.head_of,
    "what compaction has to do": statements.newest_superseding.bounded,
}


def parameters(revisions: int) -> dict[str, Any]:
    """What the questions are asked about: a range of all keys, and the last fifty changes."""
    newest = revisions + 1
    near = newest - 50
    return {
        "start": key(0),
        "end": PREFIX + b"p",
        "limit": 100,
        "at": near,
        "after": near,
        "upto": newest,
    }


def single(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """The same about one key that changed a moment ago."""
    return {**given, "start": key(KEYS - 7)} if name in SINGLE else given


SINGLE = {"get", "get a moment ago", "watch one key", "compare before a write"}


# --- SQLite


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Two databases of the same keys, with two and with two hundred versions of each."""
    folder = tmp_path_factory.mktemp("years")
    found = {revisions: folder / f"{revisions}.db" for revisions in (FEW, MANY)}
    for revisions, path in found.items():
        asyncio.run(write_years(f"sqlite:///{path}", revisions=revisions, keys=KEYS, value=b"x" * 32))
    return found


def steps(path: Path, prepared: Prepared, given: dict[str, Any]) -> int:
    """How many instructions a question takes."""
    taken = 0

    def count() -> int:
        nonlocal taken
        taken += 1
        return 0

    with closing(sqlite3.connect(path)) as raw:
        raw.execute("SELECT count(*) FROM sqlite_master").fetchall()
        raw.set_progress_handler(count, 1)
        assert raw.execute(prepared.text, prepared.args(given)).fetchall()
    return taken


@pytest.mark.parametrize("name", QUESTIONS)
def test_sqlite_takes_no_more_steps(files: dict[int, Path], name: str) -> None:
    prepared = prepare(QUESTIONS[name], "sqlite")
    few, many = (
        steps(path, prepared, single(name, parameters(revisions))) for revisions, path in files.items()
    )
    assert many <= few * 1.1 + 100


# --- PostgreSQL


@pytest.fixture(scope="module")
def databases_by_size(create_postgres: CreatePostgres) -> dict[int, str]:
    """The same on PostgreSQL."""
    found = {revisions: create_postgres(True) for revisions in (FEW, MANY)}
    for revisions, url in found.items():
        run_apart(write_years(url, revisions=revisions, keys=KEYS, value=b"x" * 32))
        run_apart(analyze(url))
    return found


async def analyze(url: str) -> None:
    """What autovacuum does within the minute."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("ANALYZE")
    finally:
        await connection.close()


async def pages(url: str, prepared: Prepared, given: dict[str, Any]) -> int:
    """How many pages a question touches, with the settings of kinepy's own connections."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("SET enable_seqscan = off; SET jit = off")
        text = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {prepared.text}"
        found = json.loads(await connection.fetchval(text, *prepared.args(given)))
    finally:
        await connection.close()
    plan = found[0]["Plan"]
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


PG_QUESTIONS = {name: each for name, each in QUESTIONS.items() if name != "current revision"} | {
    "begin of a write": bulk.begin
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PG_QUESTIONS)
async def test_postgres_touches_no_more_pages(databases_by_size: dict[int, str], name: str) -> None:
    prepared = prepare(PG_QUESTIONS[name], "postgresql")
    few, many = [
        await pages(url, prepared, {**single(name, parameters(revisions)), "keys": [key(1), key(2)]})
        for revisions, url in databases_by_size.items()
    ]
    # An index that is higher costs a page or two for each row, of which there are a hundred at most.
    assert many <= few + 400
