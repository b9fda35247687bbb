"""Run the migrations on the connection that `kinepy.migrate` made, under the lock that it holds."""

from alembic import context

from kinepy.sql.tables import VERSION_TABLE, metadata

connection = context.config.attributes.get("connection")
if connection is None:
    raise RuntimeError("run migrations with `kinepy migrate`, which connects and takes the lock first")

context.configure(
    connection=connection,
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
