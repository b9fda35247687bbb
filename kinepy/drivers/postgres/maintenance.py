"""Compaction on PostgreSQL: READ COMMITTED transactions of its own, without the order lock."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

import asyncpg
from sqlalchemy.sql.elements import ClauseElement

from kinepy.drivers.postgres.errors import translated
from kinepy.drivers.postgres.read import PREPARED
from kinepy.drivers.postgres.write import UPSERTS
from kinepy.drivers.reading import range_parameters
from kinepy.keys import KeyRange
from kinepy.revision import Revision
from kinepy.sql import writes


class PostgresMaintenance:
    """What the holder of the maintenance lock may do."""

    def __init__(self, connection: asyncpg.Connection, tell: Callable[[], Awaitable[None]]) -> None:
        self._connection, self._tell = connection, tell

    async def put_floor(self, prefix: bytes, revision: Revision) -> None:
        with translated():
            await self._run(UPSERTS.raise_floor, {"prefix": prefix, "compact_revision": revision})
        await self._tell()

    def beside_no_checkpoint(self) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def delete_superseded(
        self, key_range: KeyRange, *, after: Revision, upto: Revision, floor: Revision
    ) -> int:
        if key_range.is_empty:
            return 0
        parameters = {"after": after, "upto": upto, "floor": floor, **range_parameters(key_range)}
        with translated():
            async with self._connection.transaction():
                # A tombstone leads to the row before it, so it goes after that row.
                followed = await self._run(writes.delete_followed.on(key_range), parameters)
                tombstones = await self._run(writes.delete_tombstones.on(key_range), parameters)
        return followed + tombstones

    async def reclaim(self) -> None:
        """Nothing to do: autovacuum gives the room of deleted rows to new ones."""

    async def _run(self, statement: ClauseElement, parameters: Mapping[str, Any]) -> int:
        """Run a statement; returns how many rows it changed."""
        prepared = PREPARED[statement]
        status: str = await self._connection.execute(prepared.text, *prepared.args(parameters))
        return int(status.rsplit(" ", 1)[-1])
