"""Statements that take arrays: what PostgreSQL answers in one round trip for many rows."""

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.sql.elements import ClauseElement

from kinepy.sql.statements import position
from kinepy.sql.tables import head, lease, log
from kinepy.sql.writes import forget_lease_batches, insert_lease_batch, upsert

CHANNEL_PARAMETER: Final = "channel"

_KEYS = sa.bindparam("keys", type_=ARRAY(sa.LargeBinary))


def _unnest(table: sa.Table, prefix: str) -> Any:
    """The rows of a table as a function of one array a column, named `prefix_column`."""
    arrays = [sa.bindparam(f"{prefix}_{c.name}", type_=ARRAY(c.type)) for c in table.c]
    columns = [sa.column(c.name, c.type) for c in table.c]
    return sa.func.unnest(*arrays).table_valued(*columns).render_derived()


def _insert_rows(table: sa.Table, prefix: str) -> Any:
    new = _unnest(table, prefix)
    return postgresql_insert(table).from_select([c.name for c in table.c], sa.select(*new.c))


append: ClauseElement = sa.select(
    sa.func.pg_notify(sa.bindparam(CHANNEL_PARAMETER, type_=sa.Text), sa.bindparam("payload", type_=sa.Text))
).add_cte(
    _insert_rows(log, "log").cte("put_log"),
    upsert(_insert_rows(head, "head"), head).cte("put_head"),
    sa.delete(head).where(head.c.key == sa.any_(_KEYS)).cte("delete_head"),
)
"""Insert rows of the log, put and delete heads, and notify at commit. A key must not be put and deleted at once."""

append_quietly: ClauseElement = sa.select(sa.literal_column("1")).add_cte(
    _insert_rows(log, "log").cte("put_log"),
    upsert(_insert_rows(head, "head"), head).cte("put_head"),
    sa.delete(head).where(head.c.key == sa.any_(_KEYS)).cte("delete_head"),
)
"""As `append`, without the notification."""


def _begin() -> ClauseElement:
    now = sa.func.floor(sa.extract("epoch", sa.func.clock_timestamp()) * sa.literal_column("1000000"))
    start = position.add_columns(sa.cast(now, sa.BigInteger).label("now")).subquery("start")  # type: ignore[attr-defined]
    found = start.outerjoin(head, head.c.key == sa.any_(_KEYS))
    return sa.select(*start.c, *head.c).select_from(found)


begin: ClauseElement = _begin()
"""Revision, time of the newest row, the server's time, and the heads of `keys`: at least one row, whose head may be
NULL. Ends of primary keys; primary key of head for each key."""

now: ClauseElement = sa.select(
    sa.cast(
        sa.func.floor(sa.extract("epoch", sa.func.clock_timestamp()) * sa.literal_column("1000000")),
        sa.BigInteger,
    )
)
"""The server's time in microseconds; of this moment, not of the transaction's start."""

latest_of: ClauseElement = (
    sa.select(*log.c)
    .select_from(head.join(log, sa.and_(log.c.revision == head.c.revision, log.c.sub == head.c.sub)))
    .where(head.c.key == sa.any_(_KEYS))
)
"""The live rows of keys. Primary key of head, then of log for each."""


def _rows_of() -> ClauseElement:
    arrays = [
        sa.bindparam("revisions", type_=ARRAY(sa.BigInteger)),
        sa.bindparam("subs", type_=ARRAY(sa.Integer)),
    ]
    columns = sa.column("revision", sa.BigInteger), sa.column("sub", sa.Integer)
    wanted = sa.func.unnest(*arrays).table_valued(*columns, with_ordinality="place").render_derived()
    found = wanted.join(log, sa.and_(log.c.revision == wanted.c.revision, log.c.sub == wanted.c.sub))
    size = sa.func.coalesce(sa.func.length(log.c.value), sa.literal_column("0"))
    before = (sa.func.sum(size).over(order_by=wanted.c.place, rows=(None, 0)) - size).label("bytes_before")
    rows = sa.select(*log.c, wanted.c.place, before).select_from(found).subquery("rows")
    return (
        sa.select(*(rows.c[column.name] for column in log.c))
        .where(rows.c.bytes_before < sa.bindparam("bytes", type_=sa.BigInteger))
        .order_by(rows.c.place)
    )


rows_of: ClauseElement = _rows_of()
"""The rows at positions, in their order, up to the one with which the values reach `bytes`. Primary key of log for
each; lengths are known without reading the values."""

put_lease_batch: ClauseElement = sa.select(sa.literal_column("1")).add_cte(
    insert_lease_batch.cte("put_batch"), forget_lease_batches.cte("forget_batches")
)
"""As `insert_lease_batch` and `forget_lease_batches`."""

leases_of: ClauseElement = sa.select(*lease.c).where(
    lease.c.id == sa.any_(sa.bindparam("ids", type_=ARRAY(sa.BigInteger)))
)
"""Leases by id. Primary key of lease."""

keys_of_leases: ClauseElement = sa.select(head.c.lease, head.c.key).where(
    head.c.lease == sa.any_(sa.bindparam("ids", type_=ARRAY(sa.BigInteger))), head.c.lease.is_not(None)
)
"""The live keys of leases. Partial index on head (lease, key)."""

put_leases: ClauseElement = upsert(_insert_rows(lease, "lease"), lease)
"""Insert or replace leases. An id must not come twice."""

delete_leases: ClauseElement = sa.delete(lease).where(
    lease.c.id == sa.any_(sa.bindparam("ids", type_=ARRAY(sa.BigInteger)))
)
"""Leases by id. Primary key of lease."""
