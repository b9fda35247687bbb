"""The values that the store takes and returns.

Nothing here is ever changed after it was made, with one exception: the `face` slot of `KeyValue` and
`Event`, in which a face may keep its encoded form of the record. A record may be shared by the cache,
by many readers and by many watchers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from kinepy.keys import KeyRange
from kinepy.revision import Revision


@dataclass(slots=True)
class KeyValue:
    """One version of one key.

    `version` counts the writes since the key was created, from 1. `lease` is None when the key has none.
    """

    key: bytes
    value: bytes
    create_revision: Revision
    mod_revision: Revision
    version: int
    lease: int | None = None
    face: object = field(default=None, compare=False, repr=False)


class EventType(Enum):
    """What happened to a key."""

    PUT = "put"
    DELETE = "delete"


@dataclass(slots=True)
class Event:
    """One change of one key.

    For a PUT `kv` is the new version. For a DELETE `kv` is the tombstone: the key, an empty value, the
    revision of the delete as `mod_revision`, 0 as `create_revision` and `version`. `previous` is the
    version before the change; None when the key did not exist.
    """

    type: EventType
    kv: KeyValue
    previous: KeyValue | None
    face: object = field(default=None, compare=False, repr=False)

    @property
    def revision(self) -> Revision:
        """The revision of the change."""
        return self.kv.mod_revision

    @property
    def is_create(self) -> bool:
        """Whether the change made a key that did not exist."""
        return self.type is EventType.PUT and self.previous is None


@dataclass(slots=True)
class WatchBatch:
    """What a watch delivers at once.

    `events` are in order (revision, then order within the transaction); a revision is never split over
    two batches. `progress` is a revision up to which everything that matches has now been delivered; it
    may be greater than that of the last event, and `events` may be empty.
    """

    progress: Revision
    events: Sequence[Event]


@dataclass(frozen=True, slots=True)
class RangeResult:
    """A snapshot of a range. `revision` is the revision that was read; `items` are in key order.

    `more` says that a limit cut the result. `total` counts the whole range at that revision,
    whatever the limits.
    """

    revision: Revision
    items: Sequence[KeyValue]
    more: bool
    total: int


@dataclass(frozen=True, slots=True)
class CountResult:
    """How many keys a range held at `revision`."""

    revision: Revision
    count: int


@dataclass(frozen=True, slots=True)
class DeleteResult:
    """A key was deleted: at which revision, and what it held before."""

    revision: Revision
    previous: KeyValue


class CompareTarget(Enum):
    """Which property of a key a `Compare` looks at."""

    VERSION = "version"
    CREATE_REVISION = "create_revision"
    MOD_REVISION = "mod_revision"
    VALUE = "value"
    LEASE = "lease"


class CompareOperator(Enum):
    """How a `Compare` compares."""

    EQUAL = "="
    NOT_EQUAL = "!="
    GREATER = ">"
    LESS = "<"


@dataclass(frozen=True, slots=True)
class Compare:
    """A condition on every key of `range`, as etcd defines it.

    On a single key that does not exist, version, revisions and lease are 0 and a comparison of the
    value fails. On a wider range, the condition holds when every existing key meets it; it holds for an
    empty range, except a comparison of the value, which fails.
    """

    range: KeyRange
    target: CompareTarget
    operator: CompareOperator
    operand: int | bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """Write a key. `value=None` keeps the stored value, `keep_lease` the stored lease; both need the key to exist."""

    key: bytes
    value: bytes | None
    lease: int | None = None
    keep_lease: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRange:
    """Delete every key of a range."""

    range: KeyRange


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Read a range inside a transaction: the writes before it in the transaction are visible."""

    range: KeyRange
    limit: int | None = None
    keys_only: bool = False
    count_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Txn:
    """If all `compares` hold do `then`, else `otherwise`. All writes of a transaction share one revision."""

    compares: Sequence[Compare] = ()
    then: Sequence["Operation"] = ()
    otherwise: Sequence["Operation"] = ()


Operation: TypeAlias = Put | DeleteRange | Range | Txn


@dataclass(frozen=True, slots=True)
class PutOutcome:
    """The answer to a `Put`."""

    kv: KeyValue
    previous: KeyValue | None


@dataclass(frozen=True, slots=True)
class DeleteRangeOutcome:
    """The answer to a `DeleteRange`: what was deleted, in key order."""

    previous: Sequence[KeyValue]


@dataclass(frozen=True, slots=True)
class RangeOutcome:
    """The answer to a `Range` inside a transaction."""

    items: Sequence[KeyValue]
    more: bool
    total: int


@dataclass(frozen=True, slots=True)
class TxnOutcome:
    """The answer to a `Txn` inside a transaction."""

    succeeded: bool
    outcomes: Sequence["Outcome"]


Outcome: TypeAlias = PutOutcome | DeleteRangeOutcome | RangeOutcome | TxnOutcome


@dataclass(frozen=True, slots=True)
class TxnResult:
    """The answer to a transaction.

    `revision` is the one its writes took; for a transaction that wrote nothing, the store's current one.
    """

    revision: Revision
    succeeded: bool
    outcomes: Sequence[Outcome]


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease as granted: its id, the granted time to live and the instant it ends (µs since 1970)."""

    id: int
    ttl_s: int
    expires_at_us: int


@dataclass(frozen=True, slots=True)
class LeaseStatus:
    """A lease now: `remaining_s` until it expires, and the keys attached to it, in order."""

    id: int
    ttl_s: int
    remaining_s: float
    keys: Sequence[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStatus:
    """Figures of one store as one process sees it."""

    store_id: str
    database: str
    epoch: int
    current_revision: Revision
    applied_revision: Revision
    compact_revision: Revision
    prefix_floors: Mapping[bytes, Revision]
    keys: int
    log_rows: int
    size_bytes: int
    leases: int
    watchers: int
