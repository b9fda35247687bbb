"""The statements that change the tables, a row at a time; `bulk` has those that take arrays."""

from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.sql.dml import UpdateBase
from sqlalchemy.sql.elements import ClauseElement

from kinepy.sql.prepare import DialectName, Unindexed
from kinepy.sql.ranges import START, Bounds, Ranged, ranged
from kinepy.sql.tables import epoch, floor, head, lease, lease_batch, log, store

AnyInsert = Any  # the two dialects' inserts have the same methods and no common class that says so


def upsert(insert: AnyInsert, table: sa.Table) -> AnyInsert:
    """Let an insert of a whole row replace the row with the same primary key."""
    keys = [column.name for column in table.primary_key]
    values = {column.name: insert.excluded[column.name] for column in table.c if column.name not in keys}
    return insert.on_conflict_do_update(index_elements=keys, set_=values)


def _raise_floor(insert: AnyInsert) -> UpdateBase:
    raised: UpdateBase = insert.on_conflict_do_update(
        index_elements=["prefix"],
        set_={"compact_revision": insert.excluded.compact_revision},
        where=insert.excluded.compact_revision > floor.c.compact_revision,
    )
    return raised


@dataclass(frozen=True, slots=True, eq=False)
class Upserts:
    """Statements that insert or replace one row, whose parameters are the table's columns."""

    put_head: UpdateBase
    put_lease: UpdateBase
    raise_floor: UpdateBase
    seed_store: UpdateBase
    seed_epoch: UpdateBase


def _upserts(insert: Any) -> Upserts:
    return Upserts(
        put_head=upsert(insert(head), head),
        put_lease=upsert(insert(lease), lease),
        raise_floor=_raise_floor(insert(floor)),
        seed_store=insert(store)
        .values({name: sa.bindparam(name) for name in ("id", "store_id", "created_at")})
        .on_conflict_do_nothing(index_elements=["id"]),
        seed_epoch=insert(epoch).on_conflict_do_nothing(index_elements=["number"]),
    )


UPSERTS: Final[dict[DialectName, Upserts]] = {
    "sqlite": _upserts(sqlite_insert),
    "postgresql": _upserts(postgresql_insert),
}

insert_log: ClauseElement = sa.insert(log)
"""One row of the log; the parameters are a `LogRow`."""

insert_epoch: ClauseElement = sa.insert(epoch)
"""One epoch; the parameters are an `EpochRow`."""

set_lineage: ClauseElement = sa.update(store).values(lineage=sa.bindparam("to", type_=sa.Text))
"""The only row's."""

insert_lease_batch: UpdateBase = sa.insert(lease_batch)
"""One batch; the parameters are the columns."""

forget_lease_batches: UpdateBase = sa.delete(lease_batch).where(
    lease_batch.c.committed_at < sa.bindparam("before", type_=sa.BigInteger)
)
"""Batches from before an instant. Index on lease_batch.committed_at."""

delete_head: ClauseElement = sa.delete(head).where(head.c.key == START)
"""The head of one key. Primary key of head."""

delete_lease: ClauseElement = sa.delete(lease).where(lease.c.id == sa.bindparam("id", type_=sa.BigInteger))
"""One lease. Primary key of lease."""

_AFTER = sa.bindparam("after", type_=sa.BigInteger)
_UPTO = sa.bindparam("upto", type_=sa.BigInteger)
_FLOOR = sa.bindparam("floor", type_=sa.BigInteger)
_successor = log.alias("successor")
_newest = sa.select(sa.func.max(log.c.revision)).scalar_subquery()


def _delete_followed(within: Bounds) -> ClauseElement:
    followed = log.alias("followed")
    found = (
        sa.select(followed.c.revision, followed.c.sub)
        .select_from(
            _successor.join(
                followed,
                sa.and_(
                    followed.c.key == _successor.c.key, followed.c.revision == _successor.c.prev_revision
                ),
            )
        )
        .where(
            _successor.c.revision > _AFTER,
            _successor.c.revision <= _UPTO,
            _successor.c.revision < _FLOOR,
            _successor.c.prev_revision > sa.literal_column("0"),
            within(Unindexed(_successor.c.key)),
        )
    )
    return sa.delete(log).where(sa.tuple_(log.c.revision, log.c.sub).in_(found))


delete_followed: Ranged = ranged(_delete_followed)
"""The rows whose successor lies in (after, upto] and below `floor`. Primary key of log for the successors, the
unique index on log (key, revision) for the rows."""


def _delete_tombstones(within: Bounds) -> ClauseElement:
    return sa.delete(log).where(
        log.c.revision > _AFTER,
        log.c.revision <= _UPTO,
        log.c.revision < _FLOOR,
        log.c.revision < _newest,
        log.c.value.is_(None),
        within(Unindexed(log.c.key)),
    )


delete_tombstones: Ranged = ranged(_delete_tombstones)
"""The tombstones in (after, upto] below `floor`, but never the newest row. Primary key of log."""
