"""The values of versions whose place in the log is known: from memory, else from the log, so many bytes at a time.

A version never changes where it stands, so that any snapshot in which it is there will do.
"""

from collections.abc import Sequence

from kinepy.drivers.base import Driver, Head, ReadTransaction
from kinepy.log.metrics import StoreMetrics
from kinepy.log.pages import BYTES_AIM
from kinepy.log.rows import key_value_of
from kinepy.records import KeyValue
from kinepy.settings import Settings
from kinepy.store.cache import Cache

GROWTH_MAX = 4


class Values:
    """Completes entries of the index with their values."""

    def __init__(self, driver: Driver, cache: Cache, *, settings: Settings, metrics: StoreMetrics) -> None:
        self._driver, self._cache, self._metrics = driver, cache, metrics
        self._rows_max = settings.page_rows_max

    async def of(
        self,
        entries: Sequence[KeyValue | Head],
        *,
        bytes_max: int | None,
        tx: ReadTransaction | None = None,
    ) -> Sequence[KeyValue] | None:
        """The entries with their values, up to the one with which these reach `bytes_max`; None when one is gone
        from the log. Reads in the snapshot `tx`, if given."""
        missing = sum(type(entry) is Head for entry in entries)
        self._metrics.cache_misses += missing
        self._metrics.cache_hits += len(entries) - missing
        if not missing:
            held: Sequence[KeyValue] = entries  # type: ignore[assignment]  # none of them is a Head
            if len(entries) < self._rows_max:
                self._cache.touch(entry.key for entry in entries)
            return held if bytes_max is None else _fitting(held, bytes_max)
        if tx is not None:
            return await self._read(tx, entries, bytes_max)
        async with self._driver.read() as own:
            return await self._read(own, entries, bytes_max)

    async def _read(
        self, tx: ReadTransaction, entries: Sequence[KeyValue | Head], bytes_max: int | None
    ) -> list[KeyValue] | None:
        found, size, rows = list[KeyValue](), 0, self._rows_max
        while len(found) < len(entries) and (bytes_max is None or size < bytes_max):
            aim = BYTES_AIM if bytes_max is None else min(BYTES_AIM, bytes_max - size)
            page = await self._page(tx, entries[len(found) : len(found) + rows], aim)
            if not page:
                return None
            found += page
            size += sum(len(record.value) for record in page)
            rows = min(self._rows_max, GROWTH_MAX * len(page))
        return found

    async def _page(
        self, tx: ReadTransaction, entries: Sequence[KeyValue | Head], bytes_max: int
    ) -> Sequence[KeyValue]:
        """The first entries, at least one: up to the first that is gone, or to `bytes_max`."""
        positions = [(entry.revision, entry.sub) for entry in entries if type(entry) is Head]
        rows = await tx.rows_of(positions, bytes_max=bytes_max) if positions else ()
        records = {record.key: record for record in self._cache.fill([key_value_of(row) for row in rows])}
        page: list[KeyValue] = []
        for entry in entries:
            record = records.get(entry.key) if type(entry) is Head else entry
            if record is None:
                break
            page.append(record)  # type: ignore[arg-type]  # no Head is left
        return _fitting(page, bytes_max)


def _fitting(records: Sequence[KeyValue], bytes_max: int) -> Sequence[KeyValue]:
    """The records up to the one with which their values reach a size."""
    size = 0
    for count, record in enumerate(records, 1):
        size += len(record.value)
        if size >= bytes_max:
            return records[:count]
    return records
