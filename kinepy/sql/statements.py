"""The questions that are asked of the log and its companions. Named parameters, see each docstring.

`limit` may be `NO_LIMIT`. Ranges take `start` and `end` (see `ranges`).
"""

from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.sql.elements import ClauseElement, ColumnElement

from kinepy.sql.prepare import Unindexed
from kinepy.sql.ranges import START, Bounds, Ranged, ranged
from kinepy.sql.tables import epoch, floor, head, lease, lease_batch, log, store

NO_LIMIT: Final = 2**63 - 1

_LIMIT = sa.bindparam("limit", type_=sa.BigInteger)
_AT = sa.bindparam("at", type_=sa.BigInteger)
_AFTER = sa.bindparam("after", type_=sa.BigInteger)
_UPTO = sa.bindparam("upto", type_=sa.BigInteger)
_NO_VALUE = sa.literal(b"", sa.LargeBinary).label("value")

_CURRENT = (
    sa.select(sa.func.max(sa.column("revision")))
    .select_from(
        sa.union_all(
            sa.select(sa.func.max(log.c.revision).label("revision")),
            sa.select(sa.func.max(epoch.c.base_revision)),
        ).subquery()
    )
    .scalar_subquery()
)
_COMMITTED_AT = (
    sa.select(log.c.committed_at)
    .order_by(log.c.revision.desc(), log.c.sub.desc())
    .limit(sa.literal_column("1"))
    .scalar_subquery()
)

current: ClauseElement = sa.select(_CURRENT.label("revision"))
"""The current revision. Primary key of log, read at its end."""

position: ClauseElement = sa.select(
    _CURRENT.label("revision"), sa.func.coalesce(_COMMITTED_AT, sa.literal_column("0")).label("committed_at")
)
"""The current revision and the newest row's time. Primary key of log, read at its end."""

floors: ClauseElement = sa.select(floor.c.prefix, floor.c.compact_revision)
"""All floors. There are few."""

epochs: ClauseElement = sa.select(*epoch.c).order_by(epoch.c.number)
"""All epochs. There are few."""

store_id: ClauseElement = sa.select(store.c.store_id)
"""The only row."""

head_of: ClauseElement = sa.select(*head.c).where(head.c.key == START)
"""The head of one key. Primary key of head."""

lineage: ClauseElement = sa.select(store.c.lineage)
"""The only row's."""

HEADS_CHUNK: Final = 32

heads_of_chunk: ClauseElement = sa.select(*head.c).where(
    head.c.key.in_([sa.bindparam(f"key_{n}", type_=sa.LargeBinary) for n in range(HEADS_CHUNK)])
)
"""The heads of `HEADS_CHUNK` keys. Primary key of head for each."""

row_at_position: ClauseElement = sa.select(*log.c).where(
    log.c.revision == sa.bindparam("revision", type_=sa.BigInteger),
    log.c.sub == sa.bindparam("sub", type_=sa.Integer),
)
"""One row of the log. Primary key of log."""

batch: ClauseElement = sa.select(sa.func.min(log.c.revision), sa.func.max(log.c.revision)).where(
    log.c.revision > _AFTER, log.c.batch == sa.bindparam("batch", type_=sa.BigInteger)
)
"""First and last revision of a commit batch. Primary key of log from `after` on: the asker knows where it began."""

lease_batch_of: ClauseElement = sa.select(lease_batch.c.batch).where(
    lease_batch.c.batch == sa.bindparam("batch", type_=sa.BigInteger)
)
"""A commit batch of leases alone. Primary key of lease_batch."""

committed_from: ClauseElement = (
    sa.select(log.c.revision, log.c.committed_at)
    .where(log.c.revision >= _AT)
    .order_by(log.c.revision, log.c.sub)
    .limit(sa.literal_column("1"))
)
"""Revision and time of the first row at or after a revision. Primary key of log."""

newest_before: ClauseElement = sa.select(sa.func.max(log.c.revision)).where(log.c.revision < _AT)
"""The newest revision in the log below a revision. Primary key of log."""

leases: ClauseElement = sa.select(*lease.c).order_by(lease.c.id)
"""All leases."""

lease_by_id: ClauseElement = sa.select(*lease.c).where(lease.c.id == sa.bindparam("id", type_=sa.BigInteger))
"""One lease. Primary key of lease."""

expired_leases: ClauseElement = (
    sa.select(*lease.c)
    .where(lease.c.expires_at <= sa.bindparam("now", type_=sa.BigInteger))
    .order_by(lease.c.expires_at, lease.c.id)
    .limit(_LIMIT)
)
"""Leases past their end, oldest first. Index on lease.expires_at."""

lease_keys: ClauseElement = (
    sa.select(head.c.key)
    .where(head.c.lease == sa.bindparam("lease", type_=sa.BigInteger), head.c.lease.is_not(None))
    .order_by(head.c.key)
)
"""The live keys of a lease. Partial index on head (lease, key)."""

count_rows: ClauseElement = sa.select(
    sa.select(sa.func.count()).select_from(log).scalar_subquery(),
    sa.select(sa.func.count()).select_from(head).scalar_subquery(),
    sa.select(sa.func.count()).select_from(lease).scalar_subquery(),
)
"""Rows of the log, live keys, leases. Reads one index of each whole."""


def _live() -> sa.FromClause:
    return head.join(log, sa.and_(log.c.revision == head.c.revision, log.c.sub == head.c.sub))


def _columns(keys_only: bool) -> list[ColumnElement[Any]]:
    return [_NO_VALUE if keys_only and column.name == "value" else column for column in log.c]


latest_of_key: ClauseElement = sa.select(*log.c).select_from(_live()).where(head.c.key == START)
"""The live row of one key. Primary key of head, then of log."""


def _latest(within: Bounds) -> ClauseElement:
    return sa.select(*log.c).select_from(_live()).where(within(head.c.key)).order_by(head.c.key).limit(_LIMIT)


latest: Ranged = ranged(_latest)
"""The live rows of a range, in key order. Primary key of head, then of log for each."""

heads: Ranged = ranged(
    lambda within: sa.select(*head.c).where(within(head.c.key)).order_by(head.c.key).limit(_LIMIT)
)
"""The heads of a range, in key order. Primary key of head."""

count: Ranged = ranged(lambda within: sa.select(sa.func.count()).select_from(head).where(within(head.c.key)))
"""How many live keys a range holds. Primary key of head."""


def _row_at(columns: list[ColumnElement[Any]]) -> sa.Select[Any]:
    newest = (
        sa.select(log.c.revision, log.c.sub)
        .where(log.c.key == START, log.c.revision <= _AT)
        .order_by(log.c.revision.desc())
        .limit(sa.literal_column("1"))
        .subquery("newest")
    )
    found = newest.join(log, sa.and_(log.c.revision == newest.c.revision, log.c.sub == newest.c.sub))
    return sa.select(*columns).select_from(found).where(log.c.value.is_not(None)).limit(_LIMIT)


_later = log.alias("later")


def _followed(within: Bounds) -> tuple[sa.FromClause, list[ColumnElement[bool]]]:
    """The rows that were the state at `at` and were followed since: a key's first row after `at` points at one of
    them, or at nothing when it created the key. A later row points at a row after `at`, so each key comes once."""
    followed = _later.join(log, sa.and_(log.c.key == _later.c.key, log.c.revision == _later.c.prev_revision))
    # As a mere value: SQLite would take the bound over to `log` and begin there, at the beginning of history.
    pointer = Unindexed(_later.c.prev_revision)
    conditions = [
        _later.c.revision > _AT,
        pointer > sa.literal_column("0"),
        pointer <= _AT,
        within(Unindexed(_later.c.key)),
    ]
    return followed, conditions


def _standing_at(within: Bounds, keys_only: bool) -> ClauseElement:
    return (
        sa.select(*_columns(keys_only))
        .select_from(_live())
        .where(within(head.c.key), head.c.revision <= _AT)
        .order_by(head.c.key)
        .limit(_LIMIT)
    )


def _followed_at(within: Bounds, keys_only: bool) -> ClauseElement:
    followed, conditions = _followed(within)
    columns = _columns(keys_only)
    return sa.select(*columns).select_from(followed).where(*conditions).order_by(log.c.key).limit(_LIMIT)


@dataclass(frozen=True, slots=True, eq=False)
class StateAt:
    """The state of a range at a revision: what still stands and what was followed since, each in key order. No key is
    in both. One statement for both would sort all values anew. For a single key `row` is all."""

    standing: Ranged
    followed: Ranged
    row: ClauseElement


def _state_at(keys_only: bool) -> StateAt:
    return StateAt(
        standing=ranged(lambda within: _standing_at(within, keys_only)),
        followed=ranged(lambda within: _followed_at(within, keys_only)),
        row=_row_at(_columns(keys_only)),
    )


state_at: StateAt = _state_at(keys_only=False)
"""`standing`: primary key of head, then of log for each. `followed`: primary key of log after `at`, then the unique
index on log (key, revision) for each. `row`: the unique index on log (key, revision)."""

keys_at: StateAt = _state_at(keys_only=True)
"""As `state_at`, with empty values."""


def _count_at(within: Bounds) -> ClauseElement:
    standing = sa.select(sa.func.count()).select_from(head).where(within(head.c.key), head.c.revision <= _AT)
    joined, conditions = _followed(within)
    followed = sa.select(sa.func.count()).select_from(joined).where(*conditions)
    return sa.select(standing.scalar_subquery() + followed.scalar_subquery())


count_at: Ranged = ranged(
    _count_at,
    single=sa.select(sa.func.count()).select_from(_row_at([log.c.revision]).subquery("found")),
)
"""How many keys a range held at a revision. Indexes as `state_at`."""

ROW_OVERHEAD_BYTES: Final = 120
"""What a row of the log takes beside its value and its key, which an index has once more."""


def _newest_superseding(within: Bounds) -> ClauseElement:
    return (
        sa.select(log.c.revision)
        .where(
            log.c.revision > _AFTER,
            log.c.revision < _UPTO,
            log.c.prev_revision > sa.literal_column("0"),
            within(Unindexed(log.c.key)),
        )
        .order_by(log.c.revision.desc())
        .limit(sa.literal_column("1"))
    )


newest_superseding: Ranged = ranged(_newest_superseding)
"""The newest revision in (after, upto) that replaced or deleted a key of a range. Primary key of log, from its end."""


def _tally(within: Bounds) -> ClauseElement:
    value_bytes = sa.func.coalesce(sa.func.length(log.c.value), sa.literal_column("0"))
    row_bytes = value_bytes + sa.func.length(log.c.key) * sa.literal_column("2")
    size = sa.func.coalesce(sa.func.sum(row_bytes + sa.literal_column(str(ROW_OVERHEAD_BYTES))), 0)
    return sa.select(sa.func.count(), size).where(
        log.c.revision > _AFTER, log.c.revision <= _UPTO, within(Unindexed(log.c.key))
    )


tally: Ranged = ranged(_tally)
"""How many rows of a range lie in (after, upto], and their bytes. Primary key of log; values are not read."""

_before = log.alias("before")
_with_previous = log.outerjoin(
    _before, sa.and_(_before.c.key == log.c.key, _before.c.revision == log.c.prev_revision)
)


def _history(condition: ColumnElement[bool]) -> ClauseElement:
    return (
        sa.select(*log.c, *_before.c)
        .select_from(_with_previous)
        .where(condition, log.c.revision > _AFTER, log.c.revision <= _UPTO)
        .order_by(log.c.revision, log.c.sub)
        .limit(_LIMIT)
    )


history: Ranged = ranged(
    lambda within: _history(within(Unindexed(log.c.key))), single=_history(log.c.key == START)
)
"""Rows of the log with their predecessors, in order. Primary key of log (of one key: its unique index), then the
unique index on log (key, revision) for each predecessor."""


def _rest(within: Bounds) -> ClauseElement:
    return (
        sa.select(*log.c, *_before.c)
        .select_from(_with_previous)
        .where(
            log.c.revision == _AT,
            log.c.sub > sa.bindparam("sub", type_=sa.Integer),
            within(Unindexed(log.c.key)),
        )
        .order_by(log.c.sub)
    )


history_rest: Ranged = ranged(_rest)
"""The rows of revision `at` after `sub`, as `history` gives them. Primary key of log."""
