"""Every error that the library raises.

    KinepyError
    ├── KeyExists                 create of a key that exists
    ├── KeyNotFound               update or delete of a key that does not
    ├── RevisionConflict          the key is not at the expected revision
    ├── GuardFailed               the key that guards a create has changed or is gone
    ├── HistoryUnavailable
    │   ├── Compacted             the revision was compacted away
    │   └── RevisionInFuture      the store has not reached the revision
    ├── LeaseNotFound
    ├── LeaseExists
    ├── InvalidRequest            the request cannot be right, whatever the store holds
    │   ├── InvalidKey
    │   ├── ValueTooLarge
    │   ├── TooManyOperations
    │   ├── TransactionTooLarge
    │   └── DuplicateKey          one transaction writes one key twice
    ├── Overloaded                a bound of this process was reached; nothing was done
    ├── WatchOverflow             a watcher was too slow; it may resume from `resume`
    ├── StorageUnavailable        the database did not do it now; nothing was changed
    ├── WriteOutcomeUnknown       the connection broke around COMMIT: done or not done
    ├── StorageCorrupt            the database breaks a promise of the store
    ├── DatabaseUnusable          the database cannot be opened as it is; the text says what to do
    │   ├── DatabaseUnreachable
    │   ├── DatabaseAccessDenied
    │   ├── DatabaseReadOnly
    │   ├── DatabaseNotKinepy
    │   ├── SchemaNewer
    │   └── BadDatabaseUrl
    └── StoreClosed

Errors carry data; the text is made from it. "Unknown" is neither "failed" nor "succeeded": only
WriteOutcomeUnknown leaves the fate of a write open, all others mean that nothing was changed.
"""

from kinepy.records import KeyValue
from kinepy.revision import Revision


class KinepyError(Exception):
    """The root of the tree."""


class KeyExists(KinepyError):
    """A create met an existing key. `current` is what the key holds."""

    def __init__(self, *, key: bytes, current: KeyValue) -> None:
        super().__init__(f"key {key!r} already exists at revision {current.mod_revision}")
        self.key, self.current = key, current


class KeyNotFound(KinepyError):
    """An update or delete met no key. `revision` is the store's revision at that moment."""

    def __init__(self, *, key: bytes, revision: Revision) -> None:
        super().__init__(f"key {key!r} does not exist at revision {revision}")
        self.key, self.revision = key, revision


class RevisionConflict(KinepyError):
    """The key exists, but is not at the expected revision. `current` is what it holds."""

    def __init__(self, *, key: bytes, expected: Revision, current: KeyValue) -> None:
        super().__init__(f"key {key!r} is at revision {current.mod_revision}, not at the expected {expected}")
        self.key, self.expected, self.current = key, expected, current


class GuardFailed(KinepyError):
    """The key that guards a create is not what it was. `current` is what it holds, None when it is gone."""

    def __init__(self, *, key: bytes, expected: Revision, current: KeyValue | None) -> None:
        state = "is gone" if current is None else f"is at revision {current.mod_revision}"
        super().__init__(f"key {key!r} {state}, and guards a write at revision {expected}")
        self.key, self.expected, self.current = key, expected, current


class HistoryUnavailable(KinepyError):
    """The asked revision cannot be read."""


class Compacted(HistoryUnavailable):
    """The revision `requested` is gone: the oldest readable one is `compacted`."""

    def __init__(self, *, requested: Revision, compacted: Revision) -> None:
        super().__init__(f"revision {requested} has been compacted: the oldest readable one is {compacted}")
        self.requested, self.compacted = requested, compacted


class RevisionInFuture(HistoryUnavailable):
    """The store stands at `current` and has not reached `requested`."""

    def __init__(self, *, requested: Revision, current: Revision) -> None:
        super().__init__(f"revision {requested} is in the future: the store stands at {current}")
        self.requested, self.current = requested, current


class LeaseNotFound(KinepyError):
    """There is no such lease, or it has expired."""

    def __init__(self, *, lease: int) -> None:
        super().__init__(f"lease {lease} does not exist")
        self.lease = lease


class LeaseExists(KinepyError):
    """A grant asked for an id that is taken."""

    def __init__(self, *, lease: int) -> None:
        super().__init__(f"lease {lease} already exists")
        self.lease = lease


class InvalidRequest(KinepyError):
    """The request cannot be right, whatever the store holds."""


class InvalidKey(InvalidRequest):
    """The key is empty or longer than the limit."""

    def __init__(self, *, key: bytes, key_bytes_max: int) -> None:
        shown = key[:64]
        super().__init__(
            f"key {shown!r} of {len(key)} bytes is invalid: a key has 1 to {key_bytes_max} bytes"
        )
        self.key, self.key_bytes_max = key, key_bytes_max


class ValueTooLarge(InvalidRequest):
    """The value is longer than the limit."""

    def __init__(self, *, key: bytes, size_bytes: int, value_bytes_max: int) -> None:
        super().__init__(
            f"value of key {key!r} has {size_bytes} bytes: at most {value_bytes_max} are allowed"
        )
        self.key, self.size_bytes, self.value_bytes_max = key, size_bytes, value_bytes_max


class TooManyOperations(InvalidRequest):
    """A transaction has more operations than the limit, or touches more keys."""

    def __init__(self, *, operations: int, operations_max: int) -> None:
        super().__init__(f"transaction of {operations} operations: at most {operations_max} are allowed")
        self.operations, self.operations_max = operations, operations_max


class TransactionTooLarge(InvalidRequest):
    """A transaction reads more than the limit: the values that are there of all keys that it names."""

    def __init__(self, *, size_bytes: int, size_bytes_max: int) -> None:
        super().__init__(
            f"transaction over values of {size_bytes} bytes or more: at most {size_bytes_max} are allowed"
        )
        self.size_bytes, self.size_bytes_max = size_bytes, size_bytes_max


class DuplicateKey(InvalidRequest):
    """One transaction writes the same key twice."""

    def __init__(self, *, key: bytes) -> None:
        super().__init__(f"transaction writes key {key!r} twice")
        self.key = key


class Overloaded(KinepyError):
    """A bound of this process was reached; nothing was done. `what` names the bound's setting."""

    def __init__(self, *, what: str, limit: int) -> None:
        super().__init__(f"too much at once: {what} is limited to {limit}")
        self.what, self.limit = what, limit


class WatchOverflow(KinepyError):
    """The watcher did not read fast enough. Everything up to `resume` - 1 was delivered: watch again from `resume`."""

    def __init__(self, *, resume: Revision) -> None:
        super().__init__(f"the watcher was too slow: watch again from revision {resume}")
        self.resume = resume


class StorageUnavailable(KinepyError):
    """The database could not do it now, and surely has changed nothing."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the database is not available: {reason}")
        self.reason = reason


class WriteOutcomeUnknown(KinepyError):
    """The connection broke around COMMIT and the fate of the write could not be found out."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the write may or may not have been done: {reason}")
        self.reason = reason


class StorageCorrupt(KinepyError):
    """What the database holds breaks a promise of the store."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"the database is damaged: {problem}")
        self.problem = problem


class DatabaseUnusable(KinepyError):
    """The database cannot be opened as it is. The text is one line and says what to do."""


class DatabaseUnreachable(DatabaseUnusable):
    """No database answers at the address."""


class DatabaseAccessDenied(DatabaseUnusable):
    """The database refuses the user, the password or the right to the schema."""


class DatabaseReadOnly(DatabaseUnusable):
    """The database cannot be written."""


class DatabaseNotKinepy(DatabaseUnusable):
    """The file or schema holds something else, or is damaged."""


class SchemaNewer(DatabaseUnusable):
    """The schema was made by a newer kinepy."""


class BadDatabaseUrl(DatabaseUnusable):
    """The database URL cannot be understood."""


class StoreClosed(KinepyError):
    """The store was closed."""

    def __init__(self) -> None:
        super().__init__("the store is closed")
