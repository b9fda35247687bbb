"""PostgreSQL vacuums in small steps and without pauses: retention deletes as many rows as are written."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

OPTIONS = {
    "log": {
        "autovacuum_vacuum_scale_factor": "0.02",
        "autovacuum_analyze_scale_factor": "0.02",
        "autovacuum_vacuum_cost_delay": "0",
        "toast.autovacuum_vacuum_scale_factor": "0.02",
        "toast.autovacuum_vacuum_cost_delay": "0",
    },
    "head": {"autovacuum_vacuum_cost_delay": "0"},
    "lease": {"autovacuum_vacuum_scale_factor": "0.05", "autovacuum_vacuum_cost_delay": "0"},
}
BEFORE = {"log": {"autovacuum_vacuum_scale_factor": "0.05"}}


def _on_postgresql() -> bool:
    return op.get_bind().dialect.name == "postgresql"


def upgrade() -> None:
    if _on_postgresql():
        for table, options in OPTIONS.items():
            settings = ", ".join(f"{name} = {value}" for name, value in options.items())
            op.execute(f"ALTER TABLE {table} SET ({settings})")


def downgrade() -> None:
    if _on_postgresql():
        for table, options in OPTIONS.items():
            op.execute(f"ALTER TABLE {table} RESET ({', '.join(options)})")
        for table, options in BEFORE.items():
            settings = ", ".join(f"{name} = {value}" for name, value in options.items())
            op.execute(f"ALTER TABLE {table} SET ({settings})")
