"""Rows of the log become records here, and travel no further."""

from kinepy.drivers.base import HistoryRow, LogRow
from kinepy.records import Event, EventType, KeyValue
from kinepy.revision import Revision

ABSENT = Revision(0)


def key_value_of(row: LogRow) -> KeyValue:
    """The version that a row, which is no tombstone, holds."""
    return KeyValue(row.key, row.value or b"", row.create_revision, row.revision, row.version, row.lease)


def tombstone(key: bytes, revision: Revision) -> KeyValue:
    """The record of a delete."""
    return KeyValue(key, b"", ABSENT, revision, 0)


def event_of(history: HistoryRow, known: KeyValue | None) -> Event:
    """The event that a row tells. `known` is used as the previous version when it is that very version."""
    row, before = history
    previous: KeyValue | None = None
    if row.prev_revision:
        if known is not None and known.mod_revision == row.prev_revision:
            previous = known
        else:
            assert before is not None, (row.revision, row.prev_revision)
            previous = key_value_of(before)
    if row.value is None:
        return Event(EventType.DELETE, tombstone(row.key, row.revision), previous)
    return Event(EventType.PUT, key_value_of(row), previous)
