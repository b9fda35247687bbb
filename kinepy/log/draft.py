"""One commit batch in the making: its writes are evaluated here, in order, in memory.

A write sees the state that the database held under the order lock and the earlier writes of its batch.
A write that fails leaves no trace: no row, no number.
"""

import asyncio
from collections.abc import Collection

from kinepy.drivers.base import LeaseRow, LogRow
from kinepy.errors import LeaseNotFound, TooManyOperations
from kinepy.keys import KeyRange
from kinepy.log.clock_steps import ClockSteps
from kinepy.log.rows import tombstone
from kinepy.records import Event, EventType, KeyValue
from kinepy.revision import Revision

ROW_OVERHEAD_BYTES = 128


class Draft:
    """What a batch has read and what it will write."""

    __slots__ = (
        "_attached",
        "_steps",
        "batch",
        "committed_at",
        "current",
        "ended_leases",
        "events",
        "granted_leases",
        "leases",
        "now_us",
        "overfull",
        "revision",
        "rows",
    )

    def __init__(
        self, *, revision: Revision, batch: int, now_us: int, committed_at: int, steps: ClockSteps
    ) -> None:
        self.revision = revision
        """The newest revision taken; the next write takes the one after it."""
        self.batch = batch
        self.now_us, self._steps = now_us, steps
        # Time in the log never runs backwards, even when the clock does.
        self.committed_at = max(now_us, committed_at)
        self.current: dict[bytes, KeyValue | None] = {}
        """Every key that the batch may look at: what it holds now."""
        self.leases: dict[int, LeaseRow] = {}
        self.overfull: dict[KeyRange, int] = {}
        """Ranges that hold more keys than a transaction may touch."""
        self.rows: list[LogRow] = []
        self.events: list[Event] = []
        self.granted_leases: dict[int, LeaseRow] = {}
        self.ended_leases: set[int] = set()
        # Keys by lease, made when somebody asks: a batch may end hundreds of leases.
        self._attached: dict[int, set[bytes]] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the batch changes nothing."""
        return not (self.rows or self.granted_leases or self.ended_leases)

    def put(self, key: bytes, value: bytes, *, lease: int | None, actor: str | None) -> KeyValue:
        """Write a key; takes the next revision."""
        previous, revision = self.current[key], Revision(self.revision + 1)
        if previous is None:
            record = KeyValue(key, value, revision, revision, 1, lease)
        else:
            record = KeyValue(key, value, previous.create_revision, revision, previous.version + 1, lease)
        self.put_record(record, sub=0, actor=actor)
        return record

    def put_record(self, record: KeyValue, *, sub: int, actor: str | None) -> None:
        """Write a version of a key, numbered by the caller."""
        key, value, created, revision, version = (
            record.key,
            record.value,
            record.create_revision,
            record.mod_revision,
            record.version,
        )
        previous = self.current[key]
        before = Revision(0) if previous is None else previous.mod_revision
        self.rows.append(
            LogRow(
                revision,
                sub,
                key,
                value,
                created,
                version,
                before,
                record.lease,
                self.batch,
                self.committed_at,
                actor,
            )
        )
        self.events.append(Event(EventType.PUT, record, previous))
        if self._attached is not None:
            self._attach(key, previous, record)
        self.current[key] = record
        self.revision = revision

    def delete(self, key: bytes, *, revision: Revision, sub: int = 0, actor: str | None) -> KeyValue:
        """Delete a key that exists; returns what it held."""
        previous = self.current[key]
        assert previous is not None, key
        self.rows.append(
            LogRow(
                revision,
                sub,
                key,
                None,
                previous.create_revision,
                previous.version,
                previous.mod_revision,
                None,
                self.batch,
                self.committed_at,
                actor,
            )
        )
        self.events.append(Event(EventType.DELETE, tombstone(key, revision), previous))
        if self._attached is not None:
            self._attach(key, previous, None)
        self.current[key] = None
        self.revision = revision
        return previous

    def keys_in(self, key_range: KeyRange) -> list[bytes]:
        """The keys of a range that exist now, in order. The range must be one that the write asked for."""
        count = self.overfull.get(key_range)
        if count is not None:
            raise TooManyOperations(operations=count, operations_max=count - 1)
        return sorted(key for key, held in self.current.items() if held is not None and key in key_range)

    def keys_of_lease(self, lease: int) -> list[bytes]:
        """The keys attached to a lease now, in order. The lease must be one that the write asked for."""
        attached = self._attached
        if attached is None:
            attached = self._attached = {}
            for key, held in self.current.items():
                self._attach(key, None, held)
        return sorted(attached.get(lease, ()))

    def _attach(self, key: bytes, before: KeyValue | None, held: KeyValue | None) -> None:
        """Note that a key has another lease now, or none."""
        assert self._attached is not None
        if before is not None and before.lease is not None:
            self._attached[before.lease].discard(key)
        if held is not None and held.lease is not None:
            self._attached.setdefault(held.lease, set()).add(key)

    def check_lease(self, lease: int | None) -> None:
        """Raise `LeaseNotFound` when a key cannot be attached to the lease."""
        if lease is not None:
            self.live_lease(lease)

    def live_lease(self, lease: int) -> LeaseRow:
        """The lease, which must exist and not have expired."""
        row = self.leases.get(lease)
        if row is None or self.has_expired(row):
            raise LeaseNotFound(lease=lease)
        return row

    def has_expired(self, row: LeaseRow) -> bool:
        """Whether a lease's time is over."""
        return self._steps.end_of(row, self.now_us) <= self.now_us

    def grant(self, row: LeaseRow) -> None:
        """Make a lease, or move its end."""
        self.leases[row.id] = self.granted_leases[row.id] = row
        self.ended_leases.discard(row.id)

    def end_lease(self, lease: int) -> None:
        """Delete a lease; its keys are the caller's business."""
        self.leases.pop(lease, None)
        self.granted_leases.pop(lease, None)
        self.ended_leases.add(lease)


class Write:
    """One write that waits for its batch. Subclasses say what it needs to see and what it does."""

    __slots__ = ("answer", "deadline", "keys", "size_bytes")

    keys: Collection[bytes]
    """Keys that the evaluation looks at."""
    size_bytes: int
    """What it adds to the batch, roughly."""
    answer: "asyncio.Future[object]"
    """Where the caller waits; made when the write is queued."""
    deadline: float
    """When the caller gives up waiting for its turn, on the monotonic clock."""

    may_be_too_large = False
    """Whether it may be refused for how much its evaluation looks at."""

    @property
    def ranges(self) -> Collection[KeyRange]:
        """Ranges whose keys, with their values, the evaluation looks at."""
        return ()

    @property
    def leases(self) -> Collection[int]:
        """Leases that the evaluation looks at."""
        return ()

    @property
    def ending_lease(self) -> int | None:
        """A lease whose keys the evaluation looks at."""
        return None

    @property
    def is_plain(self) -> bool:
        """Whether the evaluation looks at nothing but `keys`."""
        return True

    def evaluate(self, draft: Draft) -> object:
        """Do the write in the draft and return the caller's answer; raises what the caller is to get.

        Must not have touched the draft when it raises.
        """
        raise NotImplementedError
