"""Reading from PostgreSQL in one snapshot."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import asyncpg
from sqlalchemy.sql.elements import ClauseElement

from kinepy.drivers.base import LeaseRow, LogRow
from kinepy.drivers.postgres.connection import roll_back
from kinepy.drivers.postgres.errors import translated
from kinepy.drivers.reading import Row, StatementReads, log_rows
from kinepy.drivers.unknown import UnknownBatches
from kinepy.revision import Revision
from kinepy.sql import bulk
from kinepy.sql.prepare import PreparedStatements
from kinepy.sql.tables import metadata

PREPARED: Final = PreparedStatements("postgresql")

BEGIN_SNAPSHOT: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_SIZE: Final = (
    "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relname = ANY($1) AND relkind = 'r'"
)
_OWN_TABLES: Final = f"{_SIZE} AND relnamespace = current_schema()::regnamespace"


class PostgresReads(StatementReads):
    """What read and write transactions have in common."""

    def __init__(self, connection: asyncpg.Connection, unknown: UnknownBatches) -> None:
        self._connection, self._unknown = connection, unknown

    async def _fetch(self, statement: ClauseElement, **parameters: Any) -> Sequence[Row]:
        prepared = PREPARED[statement]
        with translated():
            rows: Sequence[Row] = await self._connection.fetch(prepared.text, *prepared.args(parameters))
        return rows

    def _first_revision_to_search(self, batch: int) -> int:
        return self._unknown.after(batch)

    async def now_us(self) -> int:
        return int((await self._fetch(bulk.now))[0][0])

    async def latest_of(self, keys: Collection[bytes]) -> Mapping[bytes, LogRow]:
        rows = await self._fetch(bulk.latest_of, keys=list(keys))
        return {row.key: row for row in log_rows(rows)}

    async def rows_of(self, positions: Sequence[tuple[Revision, int]], *, bytes_max: int) -> Sequence[LogRow]:
        revisions, subs = [place[0] for place in positions], [place[1] for place in positions]
        return log_rows(await self._fetch(bulk.rows_of, revisions=revisions, subs=subs, bytes=bytes_max))

    async def leases_of(self, ids: Collection[int]) -> Sequence[LeaseRow]:
        return [LeaseRow._make(row) for row in await self._fetch(bulk.leases_of, ids=list(ids))]

    async def keys_of_leases(self, leases: Collection[int]) -> Sequence[tuple[int, bytes]]:
        return [(row[0], row[1]) for row in await self._fetch(bulk.keys_of_leases, ids=list(leases))]

    async def _size_bytes(self) -> int:
        with translated():
            return int(await self._connection.fetchval(_OWN_TABLES, list(metadata.tables)) or 0)


class PostgresRead(PostgresReads):
    """A read transaction, begun with `BEGIN_SNAPSHOT`. Its first question takes the snapshot."""

    async def end(self) -> None:
        """Let go of the snapshot."""
        await roll_back(self._connection)
