"""What tells a server that took over from the one before, and commit batches that left no row in the log."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("store", sa.Column("lineage", sa.Text))
    op.create_table(
        "lease_batch",
        sa.Column("batch", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("committed_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("batch", name="pk_lease_batch"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_lease_batch_committed_at", "lease_batch", ["committed_at"])


def downgrade() -> None:
    op.drop_table("lease_batch")
    op.drop_column("store", "lineage")
