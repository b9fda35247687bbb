"""The newest state in memory: an index of all live keys, and as many values as its bound allows.

A key whose value was let go keeps its `Head` in the index; its value is read from the log, where it
never changes. When the index itself outgrows its bound it is given up, and the database serves, until the keys fit
again.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice

from sortedcontainers import SortedList

from kinepy.drivers.base import Head, ReadTransaction
from kinepy.keys import KeyRange
from kinepy.records import Event, EventType, KeyValue
from kinepy.revision import Revision
from kinepy.settings import Settings

INDEX_KEY_BYTES = 400
RECORD_OVERHEAD_BYTES = 200
PRESSURE = 0.75
ROOM = 0.9


def record_bytes(record: KeyValue) -> int:
    """What a record weighs, roughly: a face's encoded form is about as long as the value."""
    return 2 * len(record.value) + RECORD_OVERHEAD_BYTES


class Cache:
    """Index and values at one revision."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._keys_max = settings.index_bytes_max // INDEX_KEY_BYTES
        self._empty(Revision(0), complete=True)

    def _empty(self, revision: Revision, *, complete: bool) -> None:
        self.revision = revision
        self.complete = complete
        self.entries: dict[bytes, KeyValue | Head] = {}
        self.keys: SortedList[bytes] = SortedList()
        self.value_bytes = 0
        # Position within their revision of keys written by transactions; nearly always 0, so kept aside.
        self._subs: dict[bytes, int] = {}
        # The clock of second chances: keys in the order in which their values came in.
        self._hand: deque[bytes] = deque()
        self._touched: set[bytes] = set()

    # --- following the log

    async def reload(self, tx: ReadTransaction) -> None:
        """Read the index anew from a snapshot; values come when they are asked for."""
        revision, heads = await tx.current(), await self.read_heads(tx)
        if heads is None:
            self._empty(revision, complete=False)
        else:
            self.fill_index(heads, revision)

    async def read_heads(self, tx: ReadTransaction) -> list[Head] | None:
        """All live keys of a snapshot; None when they are more than the index may hold."""
        page, heads = self._settings.page_rows_max * 10, list[Head]()
        rest = KeyRange.everything()
        while len(heads) <= self._keys_max:
            found = await tx.heads(rest, limit=page)
            heads.extend(found)
            if len(found) < page:
                return heads if len(heads) <= self._keys_max else None
            rest = rest.after(found[-1].key)
        return None

    def fits(self, keys: int) -> bool:
        """Whether so many keys fit, with some room to grow."""
        return keys <= self._keys_max * ROOM

    def fill_index(self, heads: Sequence[Head], revision: Revision) -> None:
        """Start anew with all live keys of a revision."""
        # Records that are still the newest stay, with what faces have made of them.
        before = self.entries
        self._empty(revision, complete=True)
        self.keys = SortedList(head.key for head in heads)
        for head in heads:
            if head.sub:
                self._subs[head.key] = head.sub
            old = before.get(head.key)
            if type(old) is KeyValue and old.mod_revision == head.revision:
                self.entries[head.key] = old
                self._admit(old)
            else:
                self.entries[head.key] = head

    def peek(self, key: bytes) -> KeyValue | None:
        """What is in memory of a live key's newest version."""
        entry = self.entries.get(key)
        return entry if type(entry) is KeyValue else None

    def apply(self, events: Sequence[Event], revision: Revision) -> None:
        """Apply the whole revisions that follow the applied one, up to `revision`."""
        self.revision = revision
        if not self.complete:
            return
        seen, sub = Revision(0), 0
        for event in events:
            record = event.kv
            if record.mod_revision == seen:
                sub += 1
            else:
                seen, sub = record.mod_revision, 0
            if event.type is EventType.DELETE:
                self._drop(record.key)
            else:
                self._replace(record, sub)
        self._keep_bounds()

    def _drop(self, key: bytes) -> None:
        before = self.entries.pop(key, None)
        if before is None:
            return
        self.keys.remove(key)
        self._touched.discard(key)
        self._subs.pop(key, None)
        if type(before) is KeyValue:
            self.value_bytes -= record_bytes(before)

    def _replace(self, record: KeyValue, sub: int) -> None:
        key, entries = record.key, self.entries
        before = entries.get(key)
        entries[key] = record
        self.value_bytes += 2 * len(record.value) + RECORD_OVERHEAD_BYTES
        if type(before) is KeyValue:
            self.value_bytes -= 2 * len(before.value) + RECORD_OVERHEAD_BYTES
        else:
            self._hand.append(key)
            if before is None:
                self.keys.add(key)
        if sub:
            self._subs[key] = sub
        elif self._subs:
            self._subs.pop(key, None)

    # --- bounds

    def _admit(self, record: KeyValue) -> None:
        self.value_bytes += record_bytes(record)
        self._hand.append(record.key)

    def _keep_bounds(self) -> None:
        if len(self.entries) > self._keys_max:
            self._empty(self.revision, complete=False)
            return
        hand, entries = self._hand, self.entries
        while self.value_bytes > self._settings.cache_bytes_max and hand:
            key = hand.popleft()
            record = entries.get(key)
            if type(record) is not KeyValue:
                continue
            if key in self._touched:
                self._touched.discard(key)
                hand.append(key)
                continue
            self.value_bytes -= record_bytes(record)
            entries[key] = self._head_of(record)
        if len(hand) > 2 * len(entries) + 1024:
            # Keys that were deleted and made again stand in the queue more than once.
            self._hand = deque(key for key, entry in entries.items() if type(entry) is KeyValue)

    def _head_of(self, record: KeyValue) -> Head:
        sub = self._subs.get(record.key, 0)
        return Head(
            record.key, record.mod_revision, sub, record.create_revision, record.version, record.lease
        )

    def touch(self, keys: Iterable[bytes]) -> None:
        """The values of these keys were read; only looked at when memory gets scarce."""
        if self.value_bytes > self._settings.cache_bytes_max * PRESSURE:
            self._touched.update(keys)

    def fill(self, records: Sequence[KeyValue]) -> list[KeyValue]:
        """Take in values that were read from the log; returns the records to use, the cached ones where there are."""
        used = []
        for record in records:
            entry = self.entries.get(record.key)
            if type(entry) is Head and entry.revision == record.mod_revision:
                self.entries[record.key] = record
                self._admit(record)
            used.append(self.known(record))
        self._keep_bounds()
        return used

    # --- reading

    def known(self, record: KeyValue) -> KeyValue:
        """The cached record of the same version, if there is one: faces keep encoded forms in it."""
        entry = self.entries.get(record.key)
        if type(entry) is KeyValue and entry.mod_revision == record.mod_revision:
            return entry
        return record

    def newest(self, head: Head) -> KeyValue | Head:
        """The cached record of a version, if there is one, else what was given."""
        entry = self.entries.get(head.key)
        return entry if type(entry) is KeyValue and entry.mod_revision == head.revision else head

    def keys_in(self, key_range: KeyRange, *, limit: int | None = None) -> list[bytes]:
        """The first live keys of a range, in order."""
        if key_range.is_empty:
            return []
        if key_range.start == b"" and key_range.end is None and limit is None:
            return list(self.keys)
        found = self.keys.irange(key_range.start, key_range.end, inclusive=(True, False))
        return list(found if limit is None else islice(found, limit))

    def count(self, key_range: KeyRange) -> int:
        """How many live keys a range holds."""
        if key_range.is_empty:
            return 0
        first: int = self.keys.bisect_left(key_range.start)
        last: int = len(self.keys) if key_range.end is None else self.keys.bisect_left(key_range.end)
        return last - first
