"""The questions of a read transaction, asked alike of both databases.

A driver brings three things: how one statement is run in the transaction's snapshot, what time it is, and the
questions about many keys at once, for which each database has a fastest way of its own.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from sqlalchemy.sql.elements import ClauseElement

from kinepy.drivers.base import DatabaseSize, EpochRow, Head, HistoryRow, LeaseRow, LogRow
from kinepy.errors import StorageCorrupt
from kinepy.keys import KeyRange
from kinepy.revision import Revision
from kinepy.sql import statements
from kinepy.sql.tables import log

Row = Sequence[Any]

_LOG_WIDTH = len(log.c)
_key = attrgetter("key")


def range_parameters(key_range: KeyRange) -> dict[str, Any]:
    """The parameters of a statement about a range."""
    return {"start": key_range.start, "end": key_range.end}


def log_rows(rows: Iterable[Row]) -> list[LogRow]:
    """Rows of the log as they came from the database."""
    return list(map(LogRow._make, rows))


def _history_row(row: Row) -> HistoryRow:
    previous = LogRow._make(row[_LOG_WIDTH:]) if row[_LOG_WIDTH] is not None else None
    return HistoryRow(LogRow._make(row[:_LOG_WIDTH]), previous)


class StatementReads(ABC):
    """The part of `ReadTransaction` that is the same statement on every database."""

    @abstractmethod
    async def _fetch(self, statement: ClauseElement, **parameters: Any) -> Sequence[Row]:
        """Run a statement in the snapshot and return all its rows."""

    @abstractmethod
    async def now_us(self) -> int: ...

    @abstractmethod
    async def latest_of(self, keys: Collection[bytes]) -> Mapping[bytes, LogRow]: ...

    @abstractmethod
    async def rows_of(
        self, positions: Sequence[tuple[Revision, int]], *, bytes_max: int
    ) -> Sequence[LogRow]: ...

    @abstractmethod
    async def leases_of(self, ids: Collection[int]) -> Sequence[LeaseRow]: ...

    @abstractmethod
    async def keys_of_leases(self, leases: Collection[int]) -> Sequence[tuple[int, bytes]]: ...

    @abstractmethod
    async def _size_bytes(self) -> int: ...

    def _first_revision_to_search(self, batch: int) -> int:
        """A revision after which the rows of a batch lie, if they are there. 0 when nothing is known."""
        return 0

    async def current(self) -> Revision:
        return Revision((await self._fetch(statements.current))[0][0])

    async def floors(self) -> Mapping[bytes, Revision]:
        return {row[0]: Revision(row[1]) for row in await self._fetch(statements.floors)}

    async def epochs(self) -> Sequence[EpochRow]:
        return [EpochRow._make(row) for row in await self._fetch(statements.epochs)]

    async def store_id(self) -> str:
        rows = await self._fetch(statements.store_id)
        if not rows:
            raise StorageCorrupt("the table store is empty")
        return str(rows[0][0])

    async def heads(self, key_range: KeyRange, *, limit: int | None) -> Sequence[Head]:
        if key_range.is_empty:
            return []
        statement = statements.heads.on(key_range)
        rows = await self._fetch(statement, limit=_limit(limit), **range_parameters(key_range))
        return list(map(Head._make, rows))

    async def latest(self, key_range: KeyRange, *, limit: int | None) -> Sequence[LogRow]:
        if key_range.is_empty:
            return []
        statement = statements.latest.on(key_range)
        return log_rows(await self._fetch(statement, limit=_limit(limit), **range_parameters(key_range)))

    async def state_at(
        self, key_range: KeyRange, *, at: Revision, limit: int | None, keys_only: bool
    ) -> Sequence[LogRow]:
        if key_range.is_empty:
            return []
        parts = statements.keys_at if keys_only else statements.state_at
        parameters = {"at": at, "limit": _limit(limit), **range_parameters(key_range)}
        if key_range.is_single:
            return log_rows(await self._fetch(parts.row, **parameters))
        rows = log_rows(await self._fetch(parts.standing.on(key_range), **parameters))
        if followed := log_rows(await self._fetch(parts.followed.on(key_range), **parameters)):
            rows += followed
            rows.sort(key=_key)
        return rows[:limit]

    async def count_at(self, key_range: KeyRange, *, at: Revision | None) -> int:
        if key_range.is_empty:
            return 0
        parameters = range_parameters(key_range)
        if at is None:
            rows = await self._fetch(statements.count.on(key_range), **parameters)
        else:
            rows = await self._fetch(
                statements.count_at.on(key_range), at=at, limit=statements.NO_LIMIT, **parameters
            )
        return int(rows[0][0])

    async def history(
        self, key_range: KeyRange, *, after: Revision, upto: Revision, limit: int
    ) -> Sequence[HistoryRow]:
        if key_range.is_empty or after >= upto:
            return []
        parameters = range_parameters(key_range)
        rows = await self._fetch(
            statements.history.on(key_range), after=after, upto=upto, limit=limit, **parameters
        )
        page = [_history_row(row) for row in rows]
        if page and len(page) == limit:
            last = page[-1].row
            rest = await self._fetch(
                statements.history_rest.on(key_range), at=last.revision, sub=last.sub, **parameters
            )
            page.extend(_history_row(row) for row in rest)
        return page

    async def batch(self, batch: int) -> tuple[Revision, Revision] | None:
        rows = await self._fetch(statements.batch, batch=batch, after=self._first_revision_to_search(batch))
        first, last = rows[0]
        return None if first is None else (Revision(first), Revision(last))

    async def has_lease_batch(self, batch: int) -> bool:
        return bool(await self._fetch(statements.lease_batch_of, batch=batch))

    async def stored_lineage(self) -> str | None:
        found = (await self._fetch(statements.lineage))[0][0]
        return None if found is None else str(found)

    async def leases(self) -> Sequence[LeaseRow]:
        return [LeaseRow._make(row) for row in await self._fetch(statements.leases)]

    async def lease(self, lease: int) -> LeaseRow | None:
        rows = await self._fetch(statements.lease_by_id, id=lease)
        return LeaseRow._make(rows[0]) if rows else None

    async def expired_leases(self, *, now_us: int, limit: int) -> Sequence[LeaseRow]:
        rows = await self._fetch(statements.expired_leases, now=now_us, limit=limit)
        return [LeaseRow._make(row) for row in rows]

    async def lease_keys(self, lease: int) -> Sequence[bytes]:
        return [row[0] for row in await self._fetch(statements.lease_keys, lease=lease)]

    async def size(self) -> DatabaseSize:
        rows, keys, leases = (await self._fetch(statements.count_rows))[0]
        return DatabaseSize(log_rows=rows, keys=keys, leases=leases, size_bytes=await self._size_bytes())

    async def revision_before(self, *, committed_at: int) -> Revision | None:
        """Time rises with the revision, so that halving finds the place without an index on time."""
        low, high = 0, await self.current() + 1
        while low < high:
            middle = (low + high) // 2
            found = await self._fetch(statements.committed_from, at=middle)
            if found and found[0][1] <= committed_at:
                low = found[0][0] + 1
            else:
                high = middle
        newest = (await self._fetch(statements.newest_before, at=low))[0][0]
        return None if newest is None else Revision(newest)

    async def newest_superseding(
        self, key_range: KeyRange, *, after: Revision, before: Revision
    ) -> Revision | None:
        statement = statements.newest_superseding.on(key_range)
        rows = await self._fetch(statement, after=after, upto=before, **range_parameters(key_range))
        return Revision(rows[0][0]) if rows else None

    async def tally(self, key_range: KeyRange, *, after: Revision, upto: Revision) -> tuple[int, int]:
        statement = statements.tally.on(key_range)
        rows = await self._fetch(statement, after=after, upto=upto, **range_parameters(key_range))
        return int(rows[0][0]), int(rows[0][1])


def _limit(limit: int | None) -> int:
    return statements.NO_LIMIT if limit is None else limit
