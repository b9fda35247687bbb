"""SQLite plans without statistics: each statement must be led to its index by how it is written."""

import sqlite3
from collections.abc import Iterator

import pytest
from sqlalchemy.sql.elements import ClauseElement

from kinepy.clock import SystemClock
from kinepy.drivers.sqlite.memory import create_in_memory
from kinepy.sql import statements, writes
from kinepy.sql.prepare import prepare

LOG_BY_REVISION, LOG_BY_KEY = "sqlite_autoindex_log_1", "sqlite_autoindex_log_2"

PLANS: list[tuple[str, ClauseElement, list[str]]] = [
    ("latest", statements.latest.bounded, ["SEARCH head USING PRIMARY KEY", LOG_BY_REVISION]),
    ("standing", statements.state_at.standing.bounded, ["SEARCH head USING PRIMARY KEY", LOG_BY_REVISION]),
    ("followed", statements.state_at.followed.bounded, [f"later USING INDEX {LOG_BY_REVISION}", LOG_BY_KEY]),
    ("row", statements.state_at.row, [LOG_BY_KEY, LOG_BY_REVISION]),
    ("history", statements.history.bounded, [LOG_BY_REVISION, f"before USING INDEX {LOG_BY_KEY}"]),
    ("history of a key", statements.history.single, [LOG_BY_KEY, f"before USING INDEX {LOG_BY_KEY}"]),
    ("batch", statements.batch, [LOG_BY_REVISION]),
    ("committed_from", statements.committed_from, [LOG_BY_REVISION]),
    ("lease_keys", statements.lease_keys, ["COVERING INDEX ix_head_lease"]),
    ("expired_leases", statements.expired_leases, ["INDEX ix_lease_expires_at"]),
    (
        "delete_followed",
        writes.delete_followed.bounded,
        [f"successor USING INDEX {LOG_BY_REVISION}", LOG_BY_KEY],
    ),
    ("delete_tombstones", writes.delete_tombstones.bounded, [LOG_BY_REVISION]),
]


@pytest.fixture
def raw() -> Iterator[sqlite3.Connection]:
    connection = create_in_memory(SystemClock())
    yield connection
    connection.close()


def plan(raw: sqlite3.Connection, statement: ClauseElement) -> list[str]:
    prepared = prepare(statement, "sqlite")
    rows = raw.execute(f"EXPLAIN QUERY PLAN {prepared.text}", [None] * len(prepared.names))
    return [row[3] for row in rows]


@pytest.mark.parametrize(("name", "statement", "expected"), PLANS, ids=[entry[0] for entry in PLANS])
def test_a_statement_goes_by_its_indexes(
    raw: sqlite3.Connection, name: str, statement: ClauseElement, expected: list[str]
) -> None:
    lines = [line for line in plan(raw, statement) if line.startswith(("SEARCH", "SCAN"))]
    assert all(any(part in line for line in lines) for part in expected), lines
    assert not [line for line in lines if line in ("SCAN log", "SCAN head", "SCAN later")], lines
