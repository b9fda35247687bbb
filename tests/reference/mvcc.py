"""The store's meaning in the plainest code: a list of events, and everything worked out from it by brute force.

It imports the vocabulary only, so that it cannot share a mistake with the store.
"""

from dataclasses import dataclass, field

from kinepy.errors import Compacted, KeyExists, KeyNotFound, LeaseNotFound, RevisionConflict, RevisionInFuture
from kinepy.keys import KeyRange
from kinepy.records import (
    Compare,
    CompareOperator,
    CompareTarget,
    DeleteRange,
    DeleteRangeOutcome,
    DeleteResult,
    Event,
    EventType,
    KeyValue,
    Operation,
    Outcome,
    Put,
    PutOutcome,
    Range,
    RangeOutcome,
    RangeResult,
    Txn,
    TxnOutcome,
    TxnResult,
)
from kinepy.revision import FIRST_REVISION, Revision

State = dict[bytes, KeyValue]


@dataclass
class Model:
    """A store in memory, without bounds."""

    events: list[Event] = field(default_factory=list)
    revision: Revision = FIRST_REVISION
    floor: Revision = FIRST_REVISION
    leases: set[int] = field(default_factory=set)

    # --- reading

    def state(self, at: Revision) -> State:
        """All live keys at a revision."""
        state: State = {}
        for event in self.events:
            if event.revision <= at:
                if event.type is EventType.PUT:
                    state[event.kv.key] = event.kv
                else:
                    del state[event.kv.key]
        return state

    def _readable(self, at: Revision | None) -> Revision:
        if at is None:
            return self.revision
        if at > self.revision:
            raise RevisionInFuture(requested=at, current=self.revision)
        if at < self.floor:
            raise Compacted(requested=at, compacted=self.floor)
        return at

    def get(self, key: bytes, at: Revision | None = None) -> KeyValue | None:
        """One key."""
        return self.state(self._readable(at)).get(key)

    def range(self, key_range: KeyRange, at: Revision | None = None, limit: int | None = None) -> RangeResult:
        """A snapshot of a range."""
        read = self._readable(at)
        found = [kv for key, kv in sorted(self.state(read).items()) if key in key_range]
        shown = found[:limit]
        return RangeResult(read, shown, len(shown) < len(found), len(found))

    def since(self, key_range: KeyRange, start: Revision) -> list[Event]:
        """What a watch from `start` has to tell."""
        if start < self.floor:
            raise Compacted(requested=start, compacted=self.floor)
        return [event for event in self.events if event.revision >= start and event.kv.key in key_range]

    # --- writing

    def _put(self, key: bytes, value: bytes, lease: int | None, revision: Revision) -> KeyValue:
        previous = self.state(revision).get(key)
        created = revision if previous is None else previous.create_revision
        version = 1 if previous is None else previous.version + 1
        record = KeyValue(key, value, created, revision, version, lease)
        self.events.append(Event(EventType.PUT, record, previous))
        return record

    def _delete(self, previous: KeyValue, revision: Revision) -> None:
        gone = KeyValue(previous.key, b"", Revision(0), revision, 0)
        self.events.append(Event(EventType.DELETE, gone, previous))

    def put(self, key: bytes, value: bytes, lease: int | None = None) -> KeyValue:
        """Write a key."""
        self._lease(lease)
        self.revision = Revision(self.revision + 1)
        return self._put(key, value, lease, self.revision)

    def create(self, key: bytes, value: bytes, lease: int | None = None) -> KeyValue:
        """Write a key that must not exist."""
        current = self.get(key)
        if current is not None:
            raise KeyExists(key=key, current=current)
        return self.put(key, value, lease)

    def _expected(self, key: bytes, expect: Revision | None) -> KeyValue:
        current = self.get(key)
        if current is None:
            raise KeyNotFound(key=key, revision=self.revision)
        if expect is not None and current.mod_revision != expect:
            raise RevisionConflict(key=key, expected=expect, current=current)
        return current

    def update(self, key: bytes, value: bytes, expect: Revision | None = None) -> KeyValue:
        """Write a key that must exist."""
        self._expected(key, expect)
        return self.put(key, value)

    def delete(self, key: bytes, expect: Revision | None = None) -> DeleteResult:
        """Delete a key that must exist."""
        previous = self._expected(key, expect)
        self.revision = Revision(self.revision + 1)
        self._delete(previous, self.revision)
        return DeleteResult(self.revision, previous)

    # --- leases

    def _lease(self, lease: int | None) -> None:
        if lease is not None and lease not in self.leases:
            raise LeaseNotFound(lease=lease)

    def keys_of(self, lease: int) -> list[bytes]:
        """The keys of a lease, in order."""
        return sorted(key for key, kv in self.state(self.revision).items() if kv.lease == lease)

    def revoke(self, lease: int) -> Revision:
        """End a lease and delete its keys in one revision."""
        self._lease(lease)
        keys = self.keys_of(lease)
        self.leases.remove(lease)
        if keys:
            state = self.state(self.revision)
            self.revision = Revision(self.revision + 1)
            for key in keys:
                self._delete(state[key], self.revision)
        return self.revision

    # --- upkeep

    def compact(self, to: Revision | None) -> Revision:
        """Give up history before a revision."""
        target = self.revision if to is None else to
        if target > self.revision:
            raise RevisionInFuture(requested=target, current=self.revision)
        if target < self.floor:
            raise Compacted(requested=target, compacted=self.floor)
        self.floor = target
        return target

    # --- transactions

    def txn(self, txn: Txn) -> TxnResult:
        """Evaluate a transaction; nothing of it stays when it raises."""
        before, count = self.revision, len(self.events)
        revision = Revision(before + 1)
        try:
            outcome = self._txn(txn, revision)
        except KeyNotFound as error:
            del self.events[count:]
            raise KeyNotFound(key=error.key, revision=before) from None
        if len(self.events) > count:
            self.revision = revision
        return TxnResult(self.revision, outcome.succeeded, outcome.outcomes)

    def _txn(self, txn: Txn, revision: Revision) -> TxnOutcome:
        succeeded = all(self._holds(compare, revision) for compare in txn.compares)
        branch = txn.then if succeeded else txn.otherwise
        return TxnOutcome(succeeded, [self._operation(operation, revision) for operation in branch])

    def _found(self, key_range: KeyRange, revision: Revision) -> list[KeyValue]:
        return [kv for key, kv in sorted(self.state(revision).items()) if key in key_range]

    def _holds(self, compare: Compare, revision: Revision) -> bool:
        found = self._found(compare.range, revision)
        if not found and compare.target is CompareTarget.VALUE:
            return False
        if not found and compare.range.is_single:
            found = [KeyValue(compare.range.start, b"", Revision(0), Revision(0), 0, 0)]
        return all(_meets(compare, kv) for kv in found)

    def _operation(self, operation: Operation, revision: Revision) -> Outcome:
        if isinstance(operation, Txn):
            return self._txn(operation, revision)
        if isinstance(operation, Put):
            previous = self.state(revision).get(operation.key)
            if previous is None and (operation.value is None or operation.keep_lease):
                raise KeyNotFound(key=operation.key, revision=self.revision)
            value, lease = operation.value, operation.lease
            if previous is not None:
                value = previous.value if value is None else value
                lease = previous.lease if operation.keep_lease else lease
            assert value is not None
            return PutOutcome(self._put(operation.key, value, lease, revision), previous)
        found = self._found(operation.range, revision)
        if isinstance(operation, DeleteRange):
            for kv in found:
                self._delete(kv, revision)
            return DeleteRangeOutcome(found)
        return _shown(operation, found)


def _shown(read: Range, found: list[KeyValue]) -> RangeOutcome:
    if read.count_only:
        return RangeOutcome([], more=False, total=len(found))
    shown = found[: read.limit]
    return RangeOutcome(shown, more=len(shown) < len(found), total=len(found))


def _meets(compare: Compare, kv: KeyValue) -> bool:
    fields: dict[CompareTarget, int | bytes] = {
        CompareTarget.VERSION: kv.version,
        CompareTarget.CREATE_REVISION: kv.create_revision,
        CompareTarget.MOD_REVISION: kv.mod_revision,
        CompareTarget.VALUE: kv.value,
        CompareTarget.LEASE: kv.lease or 0,
    }
    have, want = fields[compare.target], compare.operand
    if isinstance(have, int) and isinstance(want, int):
        return _ordered(compare.operator, (have > want) - (have < want))
    assert isinstance(have, bytes) and isinstance(want, bytes)
    return _ordered(compare.operator, (have > want) - (have < want))


def _ordered(operator: CompareOperator, order: int) -> bool:
    return {
        CompareOperator.EQUAL: order == 0,
        CompareOperator.NOT_EQUAL: order != 0,
        CompareOperator.GREATER: order > 0,
        CompareOperator.LESS: order < 0,
    }[operator]
