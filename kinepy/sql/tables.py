"""The tables. Alembic owns the real ones; a test proves that its migrations lead to exactly these.

Keys are bytes and are compared bytewise, never text with a collation. The columns of `log` and `head` stand
in the order of `LogRow` and `Head`, so that a row travels between program and database as it is.
"""

from typing import Final

import sqlalchemy as sa

NAMING: Final = {
    "pk": "pk_%(table_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
}

SCHEMA_VERSIONS: Final = ("0001", "0002", "0003")
"""The migrations that this program knows, oldest first. The last one is what it works on."""

VERSION_TABLE: Final = "kinepy_version"
"""Alembic's own table, under a name that no other program in the same schema uses."""

SQLITE_APPLICATION_ID: Final = 0x6B696E65
"""Marks a SQLite file as kinepy's ("kine" in ASCII)."""

metadata = sa.MetaData(naming_convention=NAMING)

log = sa.Table(
    "log",
    metadata,
    sa.Column("revision", sa.BigInteger, nullable=False),
    sa.Column("sub", sa.Integer, nullable=False),
    sa.Column("key", sa.LargeBinary, nullable=False),
    sa.Column("value", sa.LargeBinary),
    sa.Column("create_revision", sa.BigInteger, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("prev_revision", sa.BigInteger, nullable=False),
    sa.Column("lease", sa.BigInteger),
    sa.Column("batch", sa.BigInteger, nullable=False),
    sa.Column("committed_at", sa.BigInteger, nullable=False),
    sa.Column("actor", sa.Text),
    sa.PrimaryKeyConstraint("revision", "sub"),
    sa.UniqueConstraint("key", "revision"),
    # Rows are only inserted and deleted. On SQLite a rowid table with two indexes is faster than one WITHOUT
    # ROWID: an index page holds a quarter of a page per entry, so that most values would spill over.
    # Retention deletes as much as is written: vacuum often, little at a time, and without pauses that would let it
    # fall behind. Large values are in a table of their own beside this one.
    postgresql_with={
        "autovacuum_vacuum_scale_factor": "0.02",
        "autovacuum_analyze_scale_factor": "0.02",
        "autovacuum_vacuum_cost_delay": "0",
        "toast.autovacuum_vacuum_scale_factor": "0.02",
        "toast.autovacuum_vacuum_cost_delay": "0",
    },
)

head = sa.Table(
    "head",
    metadata,
    sa.Column("key", sa.LargeBinary, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False),
    sa.Column("sub", sa.Integer, nullable=False),
    sa.Column("create_revision", sa.BigInteger, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("lease", sa.BigInteger),
    sa.PrimaryKeyConstraint("key"),
    # No index on revision and room in each page: an update of a key stays a heap-only one on PostgreSQL.
    postgresql_with={
        "fillfactor": "70",
        "autovacuum_vacuum_scale_factor": "0.05",
        "autovacuum_vacuum_cost_delay": "0",
    },
    sqlite_with_rowid=False,
)

sa.Index(
    "ix_head_lease",
    head.c.lease,
    head.c.key,
    sqlite_where=head.c.lease.is_not(None),
    postgresql_where=head.c.lease.is_not(None),
)

lease = sa.Table(
    "lease",
    metadata,
    sa.Column("id", sa.BigInteger, nullable=False, autoincrement=False),
    sa.Column("ttl_s", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.PrimaryKeyConstraint("id"),
    sa.Index("ix_lease_expires_at", "expires_at"),
    postgresql_with={"autovacuum_vacuum_scale_factor": "0.05", "autovacuum_vacuum_cost_delay": "0"},
    sqlite_with_rowid=False,
)

lease_batch = sa.Table(
    "lease_batch",
    metadata,
    # Commit batches that changed leases alone, for a while: the others are found by their rows in the log.
    sa.Column("batch", sa.BigInteger, nullable=False, autoincrement=False),
    sa.Column("committed_at", sa.BigInteger, nullable=False),
    sa.PrimaryKeyConstraint("batch"),
    sa.Index("ix_lease_batch_committed_at", "committed_at"),
    sqlite_with_rowid=False,
)

epoch = sa.Table(
    "epoch",
    metadata,
    sa.Column("number", sa.BigInteger, nullable=False, autoincrement=False),
    sa.Column("base_revision", sa.BigInteger, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("started_at", sa.BigInteger, nullable=False),
    sa.PrimaryKeyConstraint("number"),
    sqlite_with_rowid=False,
)

floor = sa.Table(
    "floor",
    metadata,
    sa.Column("prefix", sa.LargeBinary, nullable=False),
    sa.Column("compact_revision", sa.BigInteger, nullable=False),
    sa.PrimaryKeyConstraint("prefix"),
    sqlite_with_rowid=False,
)

store = sa.Table(
    "store",
    metadata,
    sa.Column("id", sa.Integer, nullable=False, autoincrement=False),
    sa.Column("store_id", sa.Text, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    # Which server's history this is; NULL where a database has no such thing, and until a server is known.
    sa.Column("lineage", sa.Text),
    sa.PrimaryKeyConstraint("id"),
    sa.CheckConstraint("id = 1", name="one_row"),
    sqlite_with_rowid=False,
)
