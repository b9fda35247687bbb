"""Databases as earlier versions of the program left them: their schema, and rows as they wrote them.

Whoever adds a migration adds the version before it here.
"""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from kinepy.migrations_folder import migrations_folder
from kinepy.sql.tables import SQLITE_APPLICATION_ID

Row = dict[str, Any]
Fill = Callable[[sa.Connection], None]

KEYS = 20
LOG = "revision, sub, key, value, create_revision, version, prev_revision, lease, batch, committed_at, actor"


def log_rows() -> list[Row]:
    """Each key is created, changed and, every fifth, deleted: revisions 2 to 45."""
    rows: list[Row] = []
    last: dict[bytes, Row] = {}

    def add(key: bytes, value: bytes | None) -> None:
        revision, before = len(rows) + 2, last.get(key)
        row: Row = {
            "revision": revision,
            "sub": 0,
            "key": key,
            "value": value,
            "create_revision": before["create_revision"] if before else revision,
            "version": (before["version"] if before else 0) + (value is not None),
            "prev_revision": before["revision"] if before else 0,
            "lease": 7 if key == b"/k/03" and value is not None else None,
            "batch": 1000 + revision // 4,
            "committed_at": 1_700_000_000_000_000 + revision,
            "actor": "somebody",
        }
        rows.append(row)
        last[key] = row

    for round_number in range(2):
        for i in range(KEYS):
            add(b"/k/%02d" % i, b"%d \xff" % round_number)
    for i in range(0, KEYS, 5):
        add(b"/k/%02d" % i, None)
    return rows


def fill_0001(connection: sa.Connection) -> None:
    """The log, its heads, a lease, the first epoch and the store's identity."""
    rows = log_rows()
    values = ", ".join(f":{name}" for name in LOG.split(", "))
    connection.execute(sa.text(f"INSERT INTO log ({LOG}) VALUES ({values})"), rows)
    last = {row["key"]: row for row in rows}
    heads = [row for row in last.values() if row["value"] is not None]
    connection.execute(
        sa.text(
            "INSERT INTO head (key, revision, sub, create_revision, version, lease)"
            " VALUES (:key, :revision, :sub, :create_revision, :version, :lease)"
        ),
        heads,
    )
    for statement in (
        "INSERT INTO lease (id, ttl_s, expires_at) VALUES (7, 3600, 4000000000000000)",
        "INSERT INTO epoch (number, base_revision, reason, started_at) VALUES (1, 1, 'created', 1)",
        f"INSERT INTO store (id, store_id, created_at) VALUES (1, '{uuid4()}', 1)",
    ):
        connection.execute(sa.text(statement))


def fill_0002(connection: sa.Connection) -> None:
    """Beside that, the server's lineage and batches that changed leases alone."""
    fill_0001(connection)
    connection.execute(sa.text("INSERT INTO lease_batch (batch, committed_at) VALUES (5, 1700000000000000)"))


FILLS: dict[str, Fill] = {"0001": fill_0001, "0002": fill_0002}


def make(connection: sa.Connection, version: str) -> None:
    """Make the schema of a version in an empty database, and fill it."""
    config = Config()
    config.set_main_option("script_location", str(migrations_folder()))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, version)
    if connection.dialect.name == "sqlite":
        connection.execute(sa.text(f"PRAGMA application_id = {SQLITE_APPLICATION_ID}"))
    FILLS[version](connection)
