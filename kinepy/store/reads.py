"""Reading: from memory where it holds the asked revision, else from one database snapshot.

Memory holds the newest applied state, and through the ring those shortly before it. Nothing fails
because memory is small; it only gets slower.
"""

from asyncio import shield, sleep
from collections.abc import Iterable, Sequence
from heapq import merge
from itertools import islice

from kinepy.drivers.base import Driver, Head, ReadTransaction
from kinepy.errors import RevisionInFuture, StorageCorrupt, StorageUnavailable, StoreClosed
from kinepy.keys import KeyRange
from kinepy.log.barrier import Barrier
from kinepy.log.floors import read_floors
from kinepy.log.metrics import StoreMetrics
from kinepy.log.rows import key_value_of
from kinepy.log.tail import Tail
from kinepy.records import CountResult, KeyValue, RangeResult
from kinepy.revision import Revision
from kinepy.settings import Settings
from kinepy.store.bounds import check_key, check_limit
from kinepy.store.state import LocalState
from kinepy.store.values import Values

TRIES_MAX = 3
READS_IN_A_ROW_MAX = 64


class Reads:
    """The store's reading half."""

    def __init__(
        self,
        driver: Driver,
        state: LocalState,
        tail: Tail,
        *,
        barrier: Barrier,
        settings: Settings,
        metrics: StoreMetrics,
    ) -> None:
        self._driver, self._state, self._tail, self._barrier = driver, state, tail, barrier
        self._cache, self._ring = state.cache, state.ring
        self._settings, self._metrics = settings, metrics
        self._values = Values(driver, state.cache, settings=settings, metrics=metrics)
        # A database of one process cannot know more than this process.
        self._shared = driver.facts.shared
        self._in_a_row = 0

    # --- which revision

    async def catch_up(self) -> Revision:
        """Wait until every write acknowledged before the call has been applied; returns the applied revision."""
        if self._tail.closed:
            raise StoreClosed
        if not self._shared:
            # Nothing to wait for; but a caller that does nothing but read is to let writers have a turn.
            self._in_a_row = (self._in_a_row + 1) % READS_IN_A_ROW_MAX
            if not self._in_a_row:
                await sleep(0)
        else:
            current = await shield(self._barrier.current())
            if current > self._cache.revision:
                self._tail.kick(current)
                await self._tail.wait_applied(current)
        return self._cache.revision

    async def _applied(self, at: Revision | None, *, consistent: bool) -> None:
        """Make sure that what is asked for has been applied, or raise `RevisionInFuture`."""
        if self._tail.closed:
            raise StoreClosed
        if at is None:
            if consistent:
                await self.catch_up()
        elif at > self._cache.revision:
            current = await self.catch_up() if consistent else self._cache.revision
            if at > current:
                raise RevisionInFuture(requested=at, current=current)

    # --- get

    async def get(self, key: bytes, *, at: Revision | None, consistent: bool) -> KeyValue | None:
        """See `Store.get`."""
        check_key(key, self._settings)
        cache = self._cache
        await self._applied(at, consistent=consistent)
        if cache.complete and (at is None or at == cache.revision):
            entry = cache.entries.get(key)
            if entry is None or type(entry) is KeyValue:
                self._metrics.cache_hits += 1
                cache.touch((key,))
                return entry
        result = await self._snapshot(KeyRange.single(key), at=at)
        return result.items[0] if result.items else None

    # --- range

    async def range(
        self,
        key_range: KeyRange,
        *,
        at: Revision | None,
        limit: int | None,
        bytes_max: int | None,
        keys_only: bool,
        consistent: bool,
    ) -> RangeResult:
        """See `Store.range`."""
        check_limit(limit)
        check_limit(bytes_max, name="bytes_max")
        await self._applied(at, consistent=consistent)
        return await self._snapshot(key_range, at=at, limit=limit, bytes_max=bytes_max, keys_only=keys_only)

    async def _snapshot(
        self,
        key_range: KeyRange,
        *,
        at: Revision | None,
        limit: int | None = None,
        bytes_max: int | None = None,
        keys_only: bool = False,
    ) -> RangeResult:
        for _ in range(TRIES_MAX):
            local = self._local(key_range, at=at, limit=limit)
            if local is None:
                break
            revision, entries, total = local
            items: Sequence[KeyValue] | None
            if keys_only:
                items = _without_values(entries)
            else:
                items = await self._values.of(entries, bytes_max=bytes_max)
            if items is not None:
                return RangeResult(revision, items, total > len(items), total)
            # A value that memory had let go was compacted away: it is not the newest any more.
            await self.catch_up()
        return await self._from_database(
            key_range, at=at, limit=limit, bytes_max=bytes_max, keys_only=keys_only
        )

    def _local(
        self, key_range: KeyRange, *, at: Revision | None, limit: int | None
    ) -> tuple[Revision, list[KeyValue | Head], int] | None:
        """Revision, entries and count of a snapshot that memory holds; None when it does not."""
        cache = self._cache
        if at is not None:
            self._tail.floors.check(key_range, at)
        if not cache.complete:
            return None
        if at is None or at == cache.revision:
            keys = cache.keys_in(key_range, limit=limit)
            total = len(keys) if limit is None else cache.count(key_range)
            return cache.revision, list(map(cache.entries.__getitem__, keys)), total
        if not self._ring.covers(at):
            return None
        return self._undone(key_range, at=at, limit=limit)

    def _undone(
        self, key_range: KeyRange, *, at: Revision, limit: int | None
    ) -> tuple[Revision, list[KeyValue | Head], int]:
        """The snapshot at a revision that the ring reaches back to."""
        cache, entries = self._cache, self._cache.entries
        held = self._ring.undo(key_range, after=at)
        made_since = sum(1 for key in held if key in entries)
        gone_since = sorted(key for key, record in held.items() if record is not None)
        total = cache.count(key_range) - made_since + len(gone_since)
        if key_range.is_empty:
            return at, [], 0
        kept: Iterable[bytes] = (
            key
            for key in cache.keys.irange(key_range.start, key_range.end, inclusive=(True, False))
            if key not in held
        )
        found: list[KeyValue | Head] = []
        for key in islice(merge(kept, gone_since), limit):
            record = held.get(key)
            found.append(entries[key] if record is None else record)
        return at, found, total

    async def _from_database(
        self,
        key_range: KeyRange,
        *,
        at: Revision | None,
        limit: int | None,
        bytes_max: int | None,
        keys_only: bool,
    ) -> RangeResult:
        items: Sequence[KeyValue]
        async with self._driver.read() as tx:
            revision = await self._check_snapshot(tx, key_range, at)
            if key_range.is_single and not keys_only:
                items = await self._one_at(tx, key_range, at)
                return RangeResult(revision, items, False, len(items))
            cut = None if limit is None else limit + 1
            heads = await _heads_at(tx, key_range, at=at, limit=cut)
            more = limit is not None and len(heads) > limit
            total = await tx.count_at(key_range, at=revision) if more else len(heads)
            entries = heads[:limit]
            if keys_only:
                items = _without_values(entries)
            else:
                known = list(map(self._cache.newest, entries))
                found = await self._values.of(known, bytes_max=bytes_max, tx=tx)
                if found is None:
                    raise StorageCorrupt("the log lacks the value of a key")
                items = found
        return RangeResult(revision, items, total > len(items), total)

    async def _one_at(self, tx: ReadTransaction, key_range: KeyRange, at: Revision | None) -> list[KeyValue]:
        """The version of a single key, in one question."""
        self._metrics.cache_misses += 1
        if at is None:
            rows = await tx.latest(key_range, limit=None)
        else:
            rows = await tx.state_at(key_range, at=at, limit=None, keys_only=False)
        return [self._cache.known(key_value_of(row)) for row in rows]

    async def _check_snapshot(
        self, tx: ReadTransaction, key_range: KeyRange, at: Revision | None
    ) -> Revision:
        """The revision to read in a snapshot, checked against the floors and the end of that very snapshot."""
        current = await tx.current()
        if at is None:
            # It may be further than what this process has applied.
            self._tail.continuity.saw(current)
            return current
        (await read_floors(tx)).check(key_range, at)
        if at > current:
            raise StorageUnavailable(f"it stands at revision {current}, but has been at {at}")
        return at

    # --- count

    async def count(self, key_range: KeyRange, *, at: Revision | None, consistent: bool) -> CountResult:
        """See `Store.count`."""
        await self._applied(at, consistent=consistent)
        cache = self._cache
        if cache.complete and (at is None or at == cache.revision):
            if at is not None:
                self._tail.floors.check(key_range, at)
            return CountResult(cache.revision, cache.count(key_range))
        local = self._local(key_range, at=at, limit=1)
        if local is not None:
            return CountResult(local[0], local[2])
        async with self._driver.read() as tx:
            revision = await self._check_snapshot(tx, key_range, at)
            return CountResult(revision, await tx.count_at(key_range, at=revision))


async def _heads_at(
    tx: ReadTransaction, key_range: KeyRange, *, at: Revision | None, limit: int | None
) -> Sequence[Head]:
    """Where the versions of a range stand at a revision, now without one."""
    if at is None:
        return await tx.heads(key_range, limit=limit)
    rows = await tx.state_at(key_range, at=at, limit=limit, keys_only=True)
    return [Head(row.key, row.revision, row.sub, row.create_revision, row.version, row.lease) for row in rows]


def _without_values(entries: Iterable[KeyValue | Head]) -> list[KeyValue]:
    return [
        KeyValue(
            entry.key,
            b"",
            entry.create_revision,
            entry.mod_revision if type(entry) is KeyValue else entry.revision,  # type: ignore[union-attr]
            entry.version,
            entry.lease,
        )
        for entry in entries
    ]
