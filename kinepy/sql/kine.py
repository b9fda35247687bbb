"""The table of a kine database, which is read here and never written, and what is asked of it."""

from typing import Final

import sqlalchemy as sa
from sqlalchemy.sql.elements import ClauseElement

kine: Final = sa.table(
    "kine",
    sa.column("id", sa.BigInteger),
    sa.column("name", sa.Text),
    sa.column("created", sa.Integer),
    sa.column("deleted", sa.Integer),
    sa.column("create_revision", sa.BigInteger),
    sa.column("prev_revision", sa.BigInteger),
    sa.column("lease", sa.BigInteger),
    sa.column("value", sa.LargeBinary),
)

_newer = kine.alias("newer")

current: ClauseElement = sa.select(
    sa.func.coalesce(sa.func.max(kine.c.id), sa.literal_column("0")), sa.func.count()
).select_from(kine)
"""The newest id, of whatever row, and the number of rows."""

live: ClauseElement = (
    sa.select(
        kine.c.id,
        kine.c.name,
        kine.c.created,
        kine.c.create_revision,
        kine.c.prev_revision,
        kine.c.lease,
        kine.c.value,
    )
    .where(
        kine.c.id > sa.bindparam("after", type_=sa.BigInteger),
        kine.c.deleted == sa.literal_column("0"),
        ~sa.exists().where(_newer.c.name == kine.c.name, _newer.c.id > kine.c.id),
    )
    .order_by(kine.c.id)
    .limit(sa.bindparam("limit", type_=sa.BigInteger))
)
"""The newest row of every name that is not deleted, by id. Primary key, then kine's index on (name, id) for each row:
equality is the same under any collation, where an order of names would not be."""
