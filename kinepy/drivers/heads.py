"""What rows of the log make of the head table."""

from collections.abc import Iterable

from kinepy.drivers.base import Head, LogRow


def heads_after(rows: Iterable[LogRow]) -> tuple[list[Head], list[bytes]]:
    """The heads to put and the keys to delete after rows in order; a key's last row decides."""
    last = {row.key: row for row in rows}
    put = [
        Head(row.key, row.revision, row.sub, row.create_revision, row.version, row.lease)
        for row in last.values()
        if row.value is not None
    ]
    return put, [row.key for row in last.values() if row.value is None]
