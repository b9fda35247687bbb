"""The revision log and its companions."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "log",
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
        sa.PrimaryKeyConstraint("revision", "sub", name="pk_log"),
        sa.UniqueConstraint("key", "revision", name="uq_log_key_revision"),
        postgresql_with={"autovacuum_vacuum_scale_factor": "0.05"},
    )
    op.create_table(
        "head",
        sa.Column("key", sa.LargeBinary, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("sub", sa.Integer, nullable=False),
        sa.Column("create_revision", sa.BigInteger, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("lease", sa.BigInteger),
        sa.PrimaryKeyConstraint("key", name="pk_head"),
        postgresql_with={"fillfactor": "70", "autovacuum_vacuum_scale_factor": "0.05"},
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_head_lease",
        "head",
        ["lease", "key"],
        sqlite_where=sa.text("lease IS NOT NULL"),
        postgresql_where=sa.text("lease IS NOT NULL"),
    )
    op.create_table(
        "lease",
        sa.Column("id", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("ttl_s", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_lease"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_lease_expires_at", "lease", ["expires_at"])
    _create_small_tables()


def _create_small_tables() -> None:
    op.create_table(
        "epoch",
        sa.Column("number", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("base_revision", sa.BigInteger, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_epoch"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "floor",
        sa.Column("prefix", sa.LargeBinary, nullable=False),
        sa.Column("compact_revision", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("prefix", name="pk_floor"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "store",
        sa.Column("id", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("store_id", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_store"),
        sa.CheckConstraint("id = 1", name=op.f("ck_store_one_row")),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    for table in ("store", "floor", "epoch", "lease", "head", "log"):
        op.drop_table(table)
