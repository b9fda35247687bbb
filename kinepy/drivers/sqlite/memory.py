"""A database in memory, made whole: migrations would have nothing to move."""

import sqlite3
from uuid import uuid4

from kinepy.clock import Clock
from kinepy.drivers.sqlite.read import PREPARED
from kinepy.drivers.sqlite.write import UPSERTS
from kinepy.sql.prepare import create_schema
from kinepy.sql.seed import seed_rows
from kinepy.sql.tables import metadata


def create_in_memory(clock: Clock) -> sqlite3.Connection:
    """A connection to a new database with all tables and first rows."""
    raw = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, cached_statements=256)
    raw.execute("PRAGMA auto_vacuum = INCREMENTAL")
    raw.execute("PRAGMA temp_store = MEMORY")
    for statement in create_schema(metadata, "sqlite"):
        raw.execute(statement)
    seed(raw, clock)
    return raw


def seed(raw: sqlite3.Connection, clock: Clock) -> None:
    """Put the rows in that every database begins with, unless they are there."""
    for statement, row in seed_rows(UPSERTS, store_id=str(uuid4()), now_us=clock.now_us()):
        raw.execute(PREPARED[statement].text, row)
