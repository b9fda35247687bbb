"""The seam to a database: what the layers above may ask of one, and what it promises.

A driver knows one database and nothing of revisions' meaning. All its coroutines raise, of the
library's tree, only: `StorageUnavailable` (surely nothing changed), `WriteOutcomeUnknown` (only from
leaving a write transaction), `StorageCorrupt`, `DatabaseUnusable` (only from `open`), `StoreClosed`.
A cancelled caller leaves no transaction open.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from kinepy.keys import KeyRange
from kinepy.revision import Revision

LEASE_BATCH_KEPT_US: Final = 600 * 1_000_000


class LogRow(NamedTuple):
    """One row of the log. `value` is None for a tombstone; `version` and `create_revision` are then those of the
    version that it ends. `prev_revision` is the revision of the key's row before; 0 on every create."""

    revision: Revision
    sub: int
    key: bytes
    value: bytes | None
    create_revision: Revision
    version: int
    prev_revision: Revision
    lease: int | None
    batch: int
    committed_at: int
    actor: str | None


class Head(NamedTuple):
    """A live key's row of the head table."""

    key: bytes
    revision: Revision
    sub: int
    create_revision: Revision
    version: int
    lease: int | None


class LeaseRow(NamedTuple):
    """One row of the lease table."""

    id: int
    ttl_s: int
    expires_at: int


class EpochRow(NamedTuple):
    """One row of the epoch table."""

    number: int
    base_revision: Revision
    reason: str
    started_at: int


class HistoryRow(NamedTuple):
    """A log row and the row of the same key before it, which is None on a create."""

    row: LogRow
    previous: LogRow | None


@dataclass(frozen=True, slots=True)
class DriverFacts:
    """What tells one database from another, as data."""

    name: str
    shared: bool
    """Other processes may write the database too."""
    durable: bool
    """It outlives the process."""
    server_time: bool
    """Time is the database server's, not this process's clock."""
    servers_change: bool = False
    """Another server may take over, without the last commits: `WriteTransaction.lineage` tells."""


@dataclass(frozen=True, slots=True)
class DatabaseSize:
    """How much there is: rows of the log, live keys, leases, and bytes on disk."""

    log_rows: int
    keys: int
    leases: int
    size_bytes: int


class ReadTransaction(Protocol):
    """One snapshot: everything read through it is of the same moment."""

    async def current(self) -> Revision:
        """The larger of the newest log row's revision and the newest epoch's base."""
        ...

    async def now_us(self) -> int:
        """The database's time."""
        ...

    async def floors(self) -> Mapping[bytes, Revision]:
        """The compact revision by prefix; b"" is the store's. Absent: never compacted."""
        ...

    async def epochs(self) -> Sequence[EpochRow]:
        """All epochs, oldest first."""
        ...

    async def store_id(self) -> str:
        """The database's identity, made once."""
        ...

    async def heads(self, key_range: KeyRange, *, limit: int | None) -> Sequence[Head]:
        """Live keys of the range in key order."""
        ...

    async def latest(self, key_range: KeyRange, *, limit: int | None) -> Sequence[LogRow]:
        """The live rows of the range, with values, in key order."""
        ...

    async def latest_of(self, keys: Collection[bytes]) -> Mapping[bytes, LogRow]:
        """The live rows of the keys, with values; absent keys are left out."""
        ...

    async def rows_of(self, positions: Sequence[tuple[Revision, int]], *, bytes_max: int) -> Sequence[LogRow]:
        """The log rows at the given (revision, sub), in that order; those that are not there are left out.

        Ends with the row with which the values reach `bytes_max`; no more are read into memory.
        """
        ...

    async def state_at(
        self, key_range: KeyRange, *, at: Revision, limit: int | None, keys_only: bool
    ) -> Sequence[LogRow]:
        """The state of the range at a revision, in key order, without tombstones; `value` is b"" with keys_only.

        Does not look at the floor: the caller compares it in the same snapshot. The cost grows with the
        result and with the changes since `at`, not with the length of history.
        """
        ...

    async def count_at(self, key_range: KeyRange, *, at: Revision | None) -> int:
        """How many keys the range held at a revision; None is now."""
        ...

    async def history(
        self, key_range: KeyRange, *, after: Revision, upto: Revision, limit: int
    ) -> Sequence[HistoryRow]:
        """Log rows with after < revision <= upto, by (revision, sub), with their predecessors.

        Ends at `limit` rows, but never inside a revision: it may return more to complete the last one.
        """
        ...

    async def batch(self, batch: int) -> tuple[Revision, Revision] | None:
        """First and last revision that the commit batch wrote; None when it is not there."""
        ...

    async def has_lease_batch(self, batch: int) -> bool:
        """Whether a commit batch that changed leases alone is there; `LEASE_BATCH_KEPT_US` at least."""
        ...

    async def leases(self) -> Sequence[LeaseRow]:
        """All leases, by id."""
        ...

    async def lease(self, lease: int) -> LeaseRow | None:
        """One lease."""
        ...

    async def leases_of(self, ids: Collection[int]) -> Sequence[LeaseRow]:
        """The leases with the given ids, in no order; absent ones are left out."""
        ...

    async def expired_leases(self, *, now_us: int, limit: int) -> Sequence[LeaseRow]:
        """Leases with expires_at <= now_us, the oldest first."""
        ...

    async def lease_keys(self, lease: int) -> Sequence[bytes]:
        """The live keys that a lease holds, in order."""
        ...

    async def keys_of_leases(self, leases: Collection[int]) -> Sequence[tuple[int, bytes]]:
        """The live keys that leases hold, each with its lease, in no order."""
        ...

    async def size(self) -> DatabaseSize:
        """How much there is."""
        ...

    async def revision_before(self, *, committed_at: int) -> Revision | None:
        """The newest revision committed at or before an instant; None when there is none."""
        ...

    async def newest_superseding(
        self, key_range: KeyRange, *, after: Revision, before: Revision
    ) -> Revision | None:
        """The newest revision with after < revision < before that replaced or deleted a key of the range."""
        ...

    async def tally(self, key_range: KeyRange, *, after: Revision, upto: Revision) -> tuple[int, int]:
        """How many changes of the range there are with after < revision <= upto, and their size in bytes."""
        ...


class WriteTransaction(ReadTransaction, Protocol):
    """The order lock is held from before the first read until after the commit is visible to all."""

    revision: Revision
    """The current revision, read under the lock."""
    committed_at: int
    """committed_at of the newest log row (0 when there is none): time of the log never runs backwards."""
    heads_of: Mapping[bytes, Head]
    """The heads of the keys given to `Driver.write`, read under the lock; absent keys are left out."""

    lineage: str | None
    """Which server's history this transaction writes: changes when a server took over, or was restored, that may
    lack commits. None where that cannot be told."""

    async def stored_lineage(self) -> str | None:
        """The lineage that was put last; None when none was."""
        ...

    async def put_lineage(self, lineage: str) -> None:
        """Remember a lineage in the database itself, so that it goes where the database goes."""
        ...

    async def append(self, rows: Sequence[LogRow], *, notify: bool = True) -> None:
        """Insert rows in order and bring the head table up to date with them; other processes are woken at commit.

        Several rows of one key may be among them: the last one decides its head.
        """
        ...

    async def put_lease(self, lease: LeaseRow) -> None:
        """Insert or replace a lease."""
        ...

    async def delete_leases(self, leases: Collection[int]) -> None:
        """Delete leases; their keys are the caller's business."""
        ...

    async def put_lease_batch(self, batch: int, *, now_us: int) -> None:
        """Note a commit batch that changes leases alone, and forget those from long ago."""
        ...

    async def put_epoch(self, epoch: EpochRow) -> None:
        """Start an epoch."""
        ...

    async def put_floor(self, prefix: bytes, revision: Revision) -> None:
        """Raise a floor; it never falls."""
        ...


class Maintenance(Protocol):
    """What the compactor may do. Every call is a short transaction of its own, without the order lock."""

    async def put_floor(self, prefix: bytes, revision: Revision) -> None:
        """Raise a floor; it never falls."""
        ...

    def beside_no_checkpoint(self) -> AbstractAsyncContextManager[None]:
        """Wait for the end of a checkpoint that holds up the writes as a deletion does, and let none begin until the
        end. Where checkpoints hold up nobody there is nothing to wait for."""
        ...

    async def delete_superseded(
        self, key_range: KeyRange, *, after: Revision, upto: Revision, floor: Revision
    ) -> int:
        """Delete what no read at or after `floor` can see, among the rows that have a *successor* (the next row of the
        same key) with after < successor revision <= upto, upto <= floor; and tombstones with after < revision <= upto,
        revision < floor. Predecessors of rows at exactly `floor` stay, and the newest row of the log stays.
        Since those stay, a compaction that follows one to `old` begins with after = old - 1. Returns how many rows
        went."""
        ...

    async def reclaim(self) -> None:
        """Give freed pages back and bound the write-ahead log, without stopping anybody for long."""
        ...


class Driver(Protocol):
    """One open database."""

    facts: DriverFacts

    async def close(self) -> None:
        """Close all connections. Closing twice is fine."""
        ...

    def abandon(self) -> None:
        """Wait no more for a database that does not answer: what is under way ends with `StorageUnavailable`, or with
        `WriteOutcomeUnknown` from a commit, which may be done all the same. After that it can only be closed."""
        ...

    def read(self) -> AbstractAsyncContextManager[ReadTransaction]:
        """A snapshot that sees every commit acknowledged before it was opened."""
        ...

    def write(self, keys: Collection[bytes] = ()) -> AbstractAsyncContextManager[WriteTransaction]:
        """Take the order lock, in a statement of its own, then read revision and heads of `keys`.

        Commits when the block ends, rolls back when it raises. Raises `StorageUnavailable` when it surely
        did not commit (also when the lock was not had in `lock_timeout_s`), `WriteOutcomeUnknown` when the
        connection broke after COMMIT was sent.
        """
        ...

    async def current(self) -> Revision:
        """The current revision, sees every commit acknowledged before the call: the cheapest linearizable read."""
        ...

    def maintenance(self) -> AbstractAsyncContextManager[Maintenance | None]:
        """The right to compact, held by one process at a time; None when another has it."""
        ...

    def precedence(self) -> AbstractAsyncContextManager[bool]:
        """Wait a second or two for the right to go first among processes that compete for keys; whether it was had.

        One process at a time has it; one that stands still loses it, or is not waited for. Nothing depends on it.
        Raises `StorageUnavailable`.
        """
        ...

    async def wait_for_append(self, *, timeout_s: float) -> bool:
        """Return True as soon as another process may have committed, False after `timeout_s`.

        Only a hint: signals may be lost, so callers also look at the database when it says False.
        One waiter at a time.
        """
        ...
