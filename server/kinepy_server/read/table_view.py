"""Objects as rows of a Table (NEG-5)."""

import asyncio
from collections.abc import Sequence

import orjson

from kinepy import KeyValue
from kinepy.clock import Clock
from kinepy_server.objects.codec import decode_at, object_bytes_at, shown_value
from kinepy_server.read.framing import JsonLines
from kinepy_server.read.view import CHUNK_ITEMS, ListMeta, bookmark_metadata
from kinepy_server.resources.resource import Resource
from kinepy_server.wire.partial import partial_bookmark, partial_object
from kinepy_server.wire.table import IncludeObject, cells_of, row_bytes, table_bytes, table_head


class TableView(JsonLines):
    """Rows of one resource, for one request: in a watch only the first event carries the columns.

    Ages are cells, so lines are not shared with other watchers.
    """

    line_key = ""

    def __init__(self, resource: Resource, api_version: str, *, include: IncludeObject, clock: Clock) -> None:
        self._resource, self._api_version = resource, api_version
        self._include, self._clock = include, clock
        self._columns_due = True

    def one(self, kv: KeyValue) -> bytes:
        """A Table of one row."""
        rows = [self._row(kv, kv.mod_revision, self._now())]
        metadata = ListMeta(kv.mod_revision).encode()
        return table_bytes(self._resource, rows, metadata=metadata, api_version=self._api_version)

    async def many(self, kvs: Sequence[KeyValue], meta: ListMeta) -> Sequence[bytes]:
        """A Table of all objects."""
        if not kvs:
            return [table_bytes(self._resource, (), metadata=meta.encode(), api_version=self._api_version)]
        parts = [table_head(self._resource, meta.encode(), api_version=self._api_version), b"["]
        now = self._now()
        for start in range(0, len(kvs), CHUNK_ITEMS):
            if start:
                parts.append(b",")
                await asyncio.sleep(0)
            chunk = kvs[start : start + CHUNK_ITEMS]
            parts.append(b",".join([self._row(kv, kv.mod_revision, now) for kv in chunk]))
        parts.append(b"]}")
        return parts

    def watched(self, kv: KeyValue, revision: int) -> bytes:
        """A Table of one row at an event's revision."""
        return self._event(self._row(kv, revision, self._now()), ListMeta(revision).encode())

    def bookmark(self, revision: int, *, initial_end: bool) -> bytes:
        """A Table whose row shows an empty object; the mark of the first state's end is on that."""
        metadata = bookmark_metadata(revision, initial_end=initial_end)
        obj = {"metadata": orjson.loads(metadata)}
        shown = partial_bookmark(metadata, api_version=self._api_version)
        row = row_bytes(
            cells_of(self._resource, obj, self._now()), shown if self._include != "None" else b"null"
        )
        return self._event(row, ListMeta(revision).encode())

    def _event(self, row: bytes, metadata: bytes) -> bytes:
        columns, self._columns_due = self._columns_due, False
        return table_bytes(
            self._resource, (row,), metadata=metadata, api_version=self._api_version, columns=columns
        )

    def _row(self, kv: KeyValue, revision: int, now: float) -> bytes:
        obj = decode_at(self._resource, kv, revision)
        marks = self._resource.row_conditions
        conditions = marks(obj) if marks is not None else None
        return row_bytes(cells_of(self._resource, obj, now), self._shown(kv, revision), conditions=conditions)

    def _shown(self, kv: KeyValue, revision: int) -> bytes:
        match self._include:
            case "None":
                return b"null"
            case "Object":
                return object_bytes_at(self._resource, kv, revision)
            case _:
                value = shown_value(self._resource, kv)
                return partial_object(value, revision=revision, api_version=self._api_version)

    def _now(self) -> float:
        return self._clock.now_us() / 1e6
