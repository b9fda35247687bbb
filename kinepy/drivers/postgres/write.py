"""Writing to PostgreSQL: an advisory lock, taken in a statement of its own, is the order lock.

READ COMMITTED gives every statement a snapshot of its own, so that what is read after the lock was had includes the
last commit of whoever held it before. A statement that locks and reads at once would read with a snapshot from
before the wait. A batch takes four round trips: lock, read, write with notification, commit.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import asyncpg
from sqlalchemy.sql.elements import ClauseElement

from kinepy.drivers.base import LEASE_BATCH_KEPT_US, EpochRow, Head, LeaseRow, LogRow
from kinepy.drivers.heads import heads_after
from kinepy.drivers.postgres.connection import Names, roll_back
from kinepy.drivers.postgres.errors import DATABASE_ERRORS, ends_session, translate
from kinepy.drivers.postgres.read import PostgresReads
from kinepy.drivers.reading import Row
from kinepy.drivers.unknown import UnknownBatches
from kinepy.errors import StorageUnavailable, WriteOutcomeUnknown
from kinepy.revision import Revision
from kinepy.sql import bulk, writes
from kinepy.sql.tables import head, lease, log

UPSERTS: Final = writes.UPSERTS["postgresql"]
_COMMIT: Final = "SET LOCAL statement_timeout = 0; COMMIT"
"""The server takes its own timeout in COMMIT for leave to answer before the standbys have the commit."""
_LOG_ARRAYS: Final = tuple(f"log_{column.name}" for column in log.c)
_HEAD_ARRAYS: Final = tuple(f"head_{column.name}" for column in head.c)
_LEASE_ARRAYS: Final = tuple(f"lease_{column.name}" for column in lease.c)


def _arrays(names: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> dict[str, Sequence[Any]]:
    """Rows as one array a column."""
    if not rows:
        return dict.fromkeys(names, ())
    return dict(zip(names, zip(*rows, strict=True), strict=True))


def lock_statement(names: Names) -> str:
    """Begin, and wait for the order lock: two statements in one round trip.

    The level is said, since a role or database may have another default: with one snapshot for the whole
    transaction, which the wait for the lock would take, two writers would both win.
    """
    return f"BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock({names.order_lock})"


class PostgresWrite(PostgresReads):
    """A write transaction, begun with `lock_statement`."""

    revision: Revision
    committed_at: int
    heads_of: Mapping[bytes, Head]

    def __init__(
        self,
        connection: asyncpg.Connection,
        unknown: UnknownBatches,
        *,
        names: Names,
        token: str,
        lineage: str | None,
    ) -> None:
        super().__init__(connection, unknown)
        self._names, self._token, self.lineage = names, token, lineage
        self._now_us = 0
        self._batches: set[int] = set()
        self._leases: dict[int, LeaseRow] = {}

    async def begin(self, keys: Collection[bytes]) -> None:
        """Read, under the lock, what every batch needs."""
        rows = await self._fetch(bulk.begin, keys=list(keys))
        revision, self.committed_at, self._now_us = rows[0][:3]
        self.revision = Revision(revision)
        self.heads_of = {row[3]: Head._make(row[3:]) for row in rows if row[3] is not None}

    async def commit(self) -> None:
        """Commit. Raises `StorageUnavailable` when it surely did not, `WriteOutcomeUnknown` when nobody knows."""
        if self._connection.is_closed():
            raise StorageUnavailable("the connection was lost before the commit")
        try:
            await self._flush()
        except BaseException:
            await self.rollback()
            raise
        try:
            status = await self._connection.execute(_COMMIT)
        except DATABASE_ERRORS as error:
            self._connection.terminate()
            if not ends_session(error):
                raise translate(error) from error
            self._unknown.remember(self._batches, after=self.revision)
            raise WriteOutcomeUnknown(str(error) or type(error).__name__) from error
        if status != "COMMIT":
            # An earlier statement failed and somebody went on all the same.
            raise StorageUnavailable("an earlier statement of the transaction failed")

    async def rollback(self) -> None:
        """Undo everything."""
        await roll_back(self._connection)

    async def now_us(self) -> int:
        """The server's time just after the lock was had."""
        return self._now_us

    async def append(self, rows: Sequence[LogRow], *, notify: bool = True) -> None:
        if not rows:
            return
        put, gone = heads_after(rows)
        self._batches.update({row.batch for row in rows})
        parameters = {**_arrays(_LOG_ARRAYS, rows), **_arrays(_HEAD_ARRAYS, put), "keys": gone}
        if notify:
            parameters[bulk.CHANNEL_PARAMETER] = self._names.channel
            parameters["payload"] = f"{self._token} {rows[-1].revision}"
        await self._fetch(bulk.append if notify else bulk.append_quietly, **parameters)

    async def put_lease(self, lease: LeaseRow) -> None:
        """Leases go in together, before the next statement: a batch may keep hundreds of them alive."""
        self._leases[lease.id] = lease

    async def _fetch(self, statement: ClauseElement, **parameters: Any) -> Sequence[Row]:
        await self._flush()
        return await super()._fetch(statement, **parameters)

    async def _flush(self) -> None:
        if self._leases:
            leases, self._leases = self._leases, {}
            await super()._fetch(bulk.put_leases, **_arrays(_LEASE_ARRAYS, list(leases.values())))

    async def delete_leases(self, leases: Collection[int]) -> None:
        await self._do(bulk.delete_leases, {"ids": list(leases)})

    async def put_lease_batch(self, batch: int, *, now_us: int) -> None:
        parameters = {"batch": batch, "committed_at": now_us, "before": now_us - LEASE_BATCH_KEPT_US}
        await self._do(bulk.put_lease_batch, parameters)

    async def put_lineage(self, lineage: str) -> None:
        await self._do(writes.set_lineage, {"to": lineage})

    async def put_epoch(self, epoch: EpochRow) -> None:
        await self._do(writes.insert_epoch, epoch._asdict())

    async def put_floor(self, prefix: bytes, revision: Revision) -> None:
        await self._do(UPSERTS.raise_floor, {"prefix": prefix, "compact_revision": revision})

    async def _do(self, statement: ClauseElement, parameters: Mapping[str, Any]) -> None:
        await self._fetch(statement, **parameters)
