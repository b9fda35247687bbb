"""Transactions: checked before they are queued, evaluated in memory in a batch's draft.

Evaluation works on an overlay, so a transaction that fails halfway leaves the draft untouched.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from operator import eq, gt, lt, ne
from typing import Any

from kinepy.errors import (
    DuplicateKey,
    InvalidRequest,
    KeyNotFound,
    TooManyOperations,
    TransactionTooLarge,
)
from kinepy.keys import KeyRange
from kinepy.log.draft import ROW_OVERHEAD_BYTES, Draft, Write
from kinepy.records import (
    Compare,
    CompareOperator,
    CompareTarget,
    DeleteRange,
    DeleteRangeOutcome,
    KeyValue,
    Operation,
    Outcome,
    Put,
    PutOutcome,
    Range,
    RangeOutcome,
    Txn,
    TxnOutcome,
    TxnResult,
)
from kinepy.revision import Revision
from kinepy.settings import Settings
from kinepy.store.bounds import check_key, check_lease_id, check_limit, check_value

# --- before the queue


def operations_of(txn: Txn) -> Iterator[Operation]:
    """Every operation of a transaction, of both branches and of nested ones."""
    for operation in (*txn.then, *txn.otherwise):
        yield operation
        if isinstance(operation, Txn):
            yield from operations_of(operation)


def compares_of(txn: Txn) -> Iterator[Compare]:
    """Every compare of a transaction and of nested ones."""
    yield from txn.compares
    for operation in operations_of(txn):
        if isinstance(operation, Txn):
            yield from operation.compares


def _check_depth(txn: Txn, depth_max: int) -> None:
    """Raise `InvalidRequest` for a transaction nested too deep; everything after this may recurse."""
    level, depth = [txn], 1
    while level := [
        inner for each in level for inner in (*each.then, *each.otherwise) if isinstance(inner, Txn)
    ]:
        depth += 1
        if depth > depth_max:
            raise InvalidRequest(f"transactions are nested more than {depth_max} deep")


def check_txn(txn: Txn, settings: Settings) -> None:
    """Raise `InvalidRequest` for a transaction that cannot be right, whatever the store holds."""
    _check_depth(txn, settings.transaction_depth_max)
    operations = sum(1 for _ in operations_of(txn)) + sum(1 for _ in compares_of(txn))
    if operations > settings.transaction_operations_max:
        raise TooManyOperations(operations=operations, operations_max=settings.transaction_operations_max)
    for operation in operations_of(txn):
        if isinstance(operation, Put):
            _check_put(operation, settings)
        elif isinstance(operation, Range):
            check_limit(operation.limit)
    for compare in compares_of(txn):
        if isinstance(compare.operand, bytes) != (compare.target is CompareTarget.VALUE):
            raise InvalidRequest(
                f"compare of {compare.target.value} with {compare.operand!r}: the kinds do not match"
            )
    for branch in (txn.then, txn.otherwise):
        _check_written_once(branch)


def _check_put(put: Put, settings: Settings) -> None:
    check_key(put.key, settings)
    if put.value is not None:
        check_value(put.key, put.value, settings)
    if put.lease is not None:
        check_lease_id(put.lease)
    if put.keep_lease and put.lease is not None:
        raise InvalidRequest(f"put of key {put.key!r} both gives a lease and keeps the stored one")


def _check_written_once(branch: Sequence[Operation]) -> tuple[set[bytes], list[KeyRange]]:
    """The keys and ranges that a branch may write; raises `DuplicateKey` when they meet.

    The two branches of a nested transaction may write the same key: only one of them is taken.
    """
    puts: set[bytes] = set()
    deletes: list[KeyRange] = []
    for operation in branch:
        if isinstance(operation, Put):
            new_puts, new_deletes = {operation.key}, list[KeyRange]()
        elif isinstance(operation, DeleteRange):
            new_puts, new_deletes = set(), [operation.range]
        elif isinstance(operation, Txn):
            then_puts, then_deletes = _check_written_once(operation.then)
            else_puts, else_deletes = _check_written_once(operation.otherwise)
            new_puts, new_deletes = then_puts | else_puts, then_deletes + else_deletes
        else:
            continue
        _refuse_overlap(puts, new_puts, new_deletes)
        _refuse_overlap(new_puts, puts, deletes, same=False)
        puts |= new_puts
        deletes += new_deletes
    return puts, deletes


def _refuse_overlap(
    puts: Collection[bytes], others: Collection[bytes], deletes: Sequence[KeyRange], *, same: bool = True
) -> None:
    for key in sorted(puts):
        if (same and key in others) or any(key in deleted for deleted in deletes):
            raise DuplicateKey(key=key)


# --- compares

_OPERATORS: dict[CompareOperator, Callable[[Any, Any], bool]] = {
    CompareOperator.EQUAL: eq,
    CompareOperator.NOT_EQUAL: ne,
    CompareOperator.GREATER: gt,
    CompareOperator.LESS: lt,
}

_TARGETS: dict[CompareTarget, Callable[[KeyValue], object]] = {
    CompareTarget.VERSION: lambda record: record.version,
    CompareTarget.CREATE_REVISION: lambda record: record.create_revision,
    CompareTarget.MOD_REVISION: lambda record: record.mod_revision,
    CompareTarget.VALUE: lambda record: record.value,
    CompareTarget.LEASE: lambda record: record.lease or 0,
}


def holds(compare: Compare, records: Sequence[KeyValue]) -> bool:
    """Whether a condition holds for the records that exist in its range."""
    meets, target = _OPERATORS[compare.operator], _TARGETS[compare.target]
    if records:
        return all(meets(target(record), compare.operand) for record in records)
    if compare.target is CompareTarget.VALUE:
        return False
    # A single key that does not exist compares as 0; an empty wider range meets every condition.
    return not compare.range.is_single or meets(0, compare.operand)


# --- evaluation


class TxnWrite(Write):
    """A transaction that waits for its batch."""

    __slots__ = ("_leases", "_ranges", "_read_bytes_max", "actor", "txn")

    may_be_too_large = True

    def __init__(self, txn: Txn, *, actor: str | None, read_bytes_max: int) -> None:
        self.txn, self.actor, self._read_bytes_max = txn, actor, read_bytes_max
        keys: set[bytes] = set()
        ranges: set[KeyRange] = set()
        leases: set[int] = set()
        self.size_bytes = ROW_OVERHEAD_BYTES
        for compare in compares_of(txn):
            _note(compare.range, keys, ranges)
        for operation in operations_of(txn):
            if isinstance(operation, Put):
                keys.add(operation.key)
                self.size_bytes += len(operation.key) + len(operation.value or b"") + ROW_OVERHEAD_BYTES
                if operation.lease is not None:
                    leases.add(operation.lease)
            elif not isinstance(operation, Txn):
                _note(operation.range, keys, ranges)
        self.keys, self._ranges, self._leases = keys, ranges, leases

    @property
    def ranges(self) -> Collection[KeyRange]:
        return self._ranges

    @property
    def leases(self) -> Collection[int]:
        return self._leases

    @property
    def is_plain(self) -> bool:
        return not self._ranges and not self._leases

    def evaluate(self, draft: Draft) -> TxnResult:
        """Returns the outcomes of the branch that was taken."""
        self._check_size(draft)
        evaluation = _Evaluation(draft)
        outcome = evaluation.txn(self.txn)
        evaluation.commit(self.actor)
        # A transaction that wrote nothing reports the revision that it read.
        return TxnResult(draft.revision, outcome.succeeded, outcome.outcomes)

    def _check_size(self, draft: Draft) -> None:
        """Raise `TransactionTooLarge` by all that is there, whichever branch is taken."""
        current = draft.current
        read = [key_range for key_range in self._ranges if key_range not in draft.overfull]
        keys = set(self.keys).union(*map(draft.keys_in, read)) if read else self.keys
        size = sum(len(held.value) for key in keys if (held := current[key]) is not None)
        if size > self._read_bytes_max:
            raise TransactionTooLarge(size_bytes=size, size_bytes_max=self._read_bytes_max)


def _note(key_range: KeyRange, keys: set[bytes], ranges: set[KeyRange]) -> None:
    if key_range.is_single:
        keys.add(key_range.start)
    else:
        ranges.add(key_range)


class _Evaluation:
    """One transaction being evaluated over a draft."""

    __slots__ = ("_draft", "revision", "written")

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self.revision = Revision(draft.revision + 1)
        # What the transaction has written so far, in order; each key once. None is a delete.
        self.written: dict[bytes, KeyValue | None] = {}

    def _held(self, key: bytes) -> KeyValue | None:
        return self.written[key] if key in self.written else self._draft.current[key]

    def _records(self, key_range: KeyRange) -> list[KeyValue]:
        """What a range holds now, in key order."""
        if key_range.is_single:
            held = self._held(key_range.start)
            return [] if held is None else [held]
        keys = set(self._draft.keys_in(key_range))
        keys.update(key for key in self.written if key in key_range)
        return [held for key in sorted(keys) if (held := self._held(key)) is not None]

    def txn(self, txn: Txn) -> TxnOutcome:
        succeeded = all(holds(compare, self._records(compare.range)) for compare in txn.compares)
        branch = txn.then if succeeded else txn.otherwise
        return TxnOutcome(succeeded, [self._operation(operation) for operation in branch])

    def _operation(self, operation: Operation) -> Outcome:
        if isinstance(operation, Put):
            return self._put(operation)
        if isinstance(operation, DeleteRange):
            deleted = self._records(operation.range)
            self.written.update((record.key, None) for record in deleted)
            return DeleteRangeOutcome(deleted)
        if isinstance(operation, Range):
            return self._range(operation)
        return self.txn(operation)

    def _put(self, put: Put) -> PutOutcome:
        previous = self._held(put.key)
        if previous is None and (put.value is None or put.keep_lease):
            raise KeyNotFound(key=put.key, revision=self._draft.revision)
        self._draft.check_lease(put.lease)
        value, lease = put.value, put.lease
        created, version = self.revision, 1
        if previous is not None:
            created, version = previous.create_revision, previous.version + 1
            value = previous.value if value is None else value
            lease = previous.lease if put.keep_lease else lease
        assert value is not None
        record = KeyValue(put.key, value, created, self.revision, version, lease)
        self.written[put.key] = record
        return PutOutcome(record, previous)

    def _range(self, read: Range) -> RangeOutcome:
        records = self._records(read.range)
        total = len(records)
        if read.count_only:
            return RangeOutcome([], more=False, total=total)
        shown = records[: read.limit]
        if read.keys_only:
            shown = [
                KeyValue(kv.key, b"", kv.create_revision, kv.mod_revision, kv.version, kv.lease)
                for kv in shown
            ]
        return RangeOutcome(shown, more=total > len(shown), total=total)

    def commit(self, actor: str | None) -> None:
        """Move what was written to the draft: one revision, numbered within it."""
        for sub, (key, record) in enumerate(self.written.items()):
            if record is None:
                self._draft.delete(key, revision=self.revision, sub=sub, actor=actor)
            else:
                self._draft.put_record(record, sub=sub, actor=actor)
