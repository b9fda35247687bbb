"""Reading the SQLite file of a kine, beside a kine that may be running on it."""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

from kinepy.drivers.kine import KineRow
from kinepy.drivers.reading import Row
from kinepy.drivers.sqlite.errors import open_error, translated
from kinepy.drivers.sqlite.read import PREPARED, query
from kinepy.errors import DatabaseNotKinepy, DatabaseUnreachable
from kinepy.sql import kine


class KineFile:
    """A snapshot of the file, in one read transaction."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self._raw = raw

    async def current(self) -> tuple[int, int]:
        rows = await self._fetch(kine.current, {})
        return int(rows[0][0]), int(rows[0][1])

    async def live(self, *, after: int, limit: int) -> Sequence[KineRow]:
        return [_row(row) for row in await self._fetch(kine.live, {"after": after, "limit": limit})]

    async def _fetch(self, statement: Any, parameters: Mapping[str, Any]) -> list[Row]:
        def work() -> list[Row]:
            with translated():
                return query(self._raw, PREPARED[statement], parameters)

        return await asyncio.to_thread(work)


def _row(found: Row) -> KineRow:
    row = KineRow._make(found)
    # Whoever has changed a value with SQL may have left text.
    return row._replace(value=row.value.encode()) if isinstance(row.value, str) else row


@asynccontextmanager
async def open_kine_file(path: str) -> AsyncIterator[KineFile]:
    """A snapshot of a file. Raises `DatabaseUnusable` for one that is no kine's."""
    raw = await asyncio.to_thread(_connect, path)
    try:
        yield KineFile(raw)
    finally:
        raw.close()


def _connect(path: str) -> sqlite3.Connection:
    if not os.path.isfile(path):
        raise DatabaseUnreachable(f"{path} is no file: name the SQLite file of a kine")
    try:
        raw = sqlite3.connect(
            f"file:{quote(path)}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
        )
        try:
            raw.execute("BEGIN")
            if raw.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'kine'").fetchall():
                return raw
        except BaseException:
            raw.close()
            raise
        raw.close()
    except sqlite3.Error as error:
        raise open_error(error, path) from error
    raise DatabaseNotKinepy(f"{path} has no table kine: name the SQLite file of a kine")
