"""Reading from SQLite in one snapshot."""

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from sqlalchemy.sql.elements import ClauseElement

from kinepy.clock import Clock
from kinepy.drivers.base import Head, LeaseRow, LogRow
from kinepy.drivers.reading import Row, StatementReads, log_rows
from kinepy.drivers.sqlite.connection import Connection
from kinepy.revision import Revision
from kinepy.sql import statements
from kinepy.sql.prepare import Prepared, PreparedStatements

PREPARED: Final = PreparedStatements("sqlite")
_CHUNK: Final = statements.HEADS_CHUNK


def query(raw: sqlite3.Connection, prepared: Prepared, parameters: Mapping[str, Any]) -> list[Row]:
    """All rows of a statement."""
    return raw.execute(prepared.text, prepared.args(parameters)).fetchall()


def heads_of(raw: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, Head]:
    """The heads of keys. A statement for each key costs twice of one for many."""
    rows: list[Row] = []
    if len(keys) < _CHUNK // 4:
        text = PREPARED[statements.head_of].text
        for key in keys:
            rows.extend(raw.execute(text, (key,)))
    else:
        text = PREPARED[statements.heads_of_chunk].text
        for start in range(0, len(keys), _CHUNK):
            chunk = tuple(keys[start : start + _CHUNK])
            rows.extend(raw.execute(text, chunk + chunk[-1:] * (_CHUNK - len(chunk))))
    return {row[0]: Head._make(row) for row in rows}


class SqliteReads(StatementReads):
    """What read and write transactions have in common."""

    def __init__(self, connection: Connection, clock: Clock) -> None:
        self._connection, self._clock = connection, clock

    def _enter(self, raw: sqlite3.Connection) -> None:
        """Called in the connection's thread before every statement."""
        raise NotImplementedError

    async def _fetch(self, statement: ClauseElement, **parameters: Any) -> Sequence[Row]:
        prepared = PREPARED[statement]

        def work(raw: sqlite3.Connection) -> list[Row]:
            self._enter(raw)
            return query(raw, prepared, parameters)

        return await self._connection.run(work)

    async def now_us(self) -> int:
        return self._clock.now_us()

    async def latest_of(self, keys: Collection[bytes]) -> Mapping[bytes, LogRow]:
        wanted = tuple(keys)

        def work(raw: sqlite3.Connection) -> dict[bytes, LogRow]:
            self._enter(raw)
            text = PREPARED[statements.latest_of_key].text
            rows = [row for key in wanted for row in raw.execute(text, (key,))]
            return {row.key: row for row in log_rows(rows)}

        return await self._connection.run(work)

    async def rows_of(self, positions: Sequence[tuple[Revision, int]], *, bytes_max: int) -> Sequence[LogRow]:
        def work(raw: sqlite3.Connection) -> list[LogRow]:
            self._enter(raw)
            text = PREPARED[statements.row_at_position].text
            rows, size = list[LogRow](), 0
            for position in positions:
                for row in map(LogRow._make, raw.execute(text, position)):
                    rows.append(row)
                    size += len(row.value or b"")
                if size >= bytes_max:
                    break
            return rows

        return await self._connection.run(work)

    async def leases_of(self, ids: Collection[int]) -> Sequence[LeaseRow]:
        wanted = tuple(ids)

        def work(raw: sqlite3.Connection) -> list[LeaseRow]:
            self._enter(raw)
            text = PREPARED[statements.lease_by_id].text
            return [LeaseRow._make(row) for lease in wanted for row in raw.execute(text, (lease,))]

        return await self._connection.run(work)

    async def keys_of_leases(self, leases: Collection[int]) -> Sequence[tuple[int, bytes]]:
        wanted = tuple(leases)

        def work(raw: sqlite3.Connection) -> list[tuple[int, bytes]]:
            self._enter(raw)
            text = PREPARED[statements.lease_keys].text
            return [(lease, row[0]) for lease in wanted for row in raw.execute(text, (lease,))]

        return await self._connection.run(work)

    async def _size_bytes(self) -> int:
        def work(raw: sqlite3.Connection) -> int:
            self._enter(raw)
            pages = raw.execute("PRAGMA page_count").fetchone()[0]
            return int(pages * raw.execute("PRAGMA page_size").fetchone()[0])

        return await self._connection.run(work)


class SqliteRead(SqliteReads):
    """A read transaction. Its snapshot is taken by its first statement, which saves a hop. With `begun`
    its user keeps writers away, and nothing is to be begun or ended."""

    def __init__(self, connection: Connection, clock: Clock, *, begun: bool = False) -> None:
        super().__init__(connection, clock)
        self._begun = begun

    def _enter(self, raw: sqlite3.Connection) -> None:
        if not self._begun:
            raw.execute("BEGIN")
            self._begun = True

    async def end(self) -> None:
        """Let go of the snapshot."""
        await self._connection.run(leave)


def leave(raw: sqlite3.Connection) -> None:
    """Roll back what is open, if anything is."""
    if raw.in_transaction:
        raw.execute("ROLLBACK")
