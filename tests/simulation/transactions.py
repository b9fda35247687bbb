"""Transactions that clients send, and a plain evaluation of them to compare the answers with."""

from collections.abc import Callable, Mapping, Sequence
from random import Random

from kinepy import (
    Compare,
    CompareOperator,
    CompareTarget,
    DeleteRange,
    DeleteRangeOutcome,
    KeyRange,
    KeyValue,
    Put,
    PutOutcome,
    Range,
    RangeOutcome,
    Revision,
    Txn,
    TxnOutcome,
)
from tests.simulation.reference import State, within


def draw(
    random: Random, keys: Sequence[bytes], last: Mapping[bytes, Revision], *, value: Callable[[], bytes]
) -> Txn:
    """A transaction over two keys: guarded by one, changing or reading both; sometimes one inside another."""
    first, second = random.sample(keys, 2)
    expected = last.get(first, Revision(0))
    guard = Compare(KeyRange.single(first), CompareTarget.MOD_REVISION, CompareOperator.EQUAL, expected)
    puts = (Put(key=first, value=value()), Put(key=second, value=value()))
    everything = Range(range=KeyRange.everything())
    move = (DeleteRange(range=KeyRange.single(second)), puts[0], everything)
    inner = Txn(
        compares=(Compare(KeyRange.single(second), CompareTarget.VERSION, CompareOperator.GREATER, 1),),
        then=(puts[1],),
        otherwise=(DeleteRange(range=KeyRange.single(second)),),
    )
    then = random.choice((puts, move, (puts[0], inner), (DeleteRange(range=KeyRange.prefix(b"/b")),)))
    otherwise = random.choice(((), (everything,), (puts[1],)))
    return Txn(compares=(guard,) if random.random() < 0.7 else (), then=then, otherwise=otherwise)


def twice(key: bytes) -> Txn:
    """A transaction that no store may take: it writes a key twice."""
    return Txn(then=(Put(key=key, value=b"x"), Put(key=key, value=b"y")))


class Evaluation:
    """One transaction evaluated on a state: what it answers, and the state after it."""

    def __init__(self, state: State, revision: Revision) -> None:
        self.state, self.revision = dict(state), revision
        self.changed = False

    def txn(self, txn: Txn) -> TxnOutcome:
        """Evaluate a transaction. All compares look at the state before its operations."""
        succeeded = all(self._holds(compare) for compare in txn.compares)
        operations = txn.then if succeeded else txn.otherwise
        return TxnOutcome(succeeded, [self._operate(operation) for operation in operations])

    def _holds(self, compare: Compare) -> bool:
        current = self.state.get(compare.range.start)
        actual = 0
        if current is not None:
            actual = current.version if compare.target is CompareTarget.VERSION else current.mod_revision
        assert isinstance(compare.operand, int)
        if compare.operator is CompareOperator.GREATER:
            return actual > compare.operand
        assert compare.operator is CompareOperator.EQUAL
        return actual == compare.operand

    def _operate(
        self, operation: Put | DeleteRange | Range | Txn
    ) -> PutOutcome | DeleteRangeOutcome | RangeOutcome | TxnOutcome:
        if isinstance(operation, Txn):
            return self.txn(operation)
        if isinstance(operation, Range):
            items = within(self.state, operation.range)
            return RangeOutcome(items, False, len(items))
        if isinstance(operation, DeleteRange):
            gone = within(self.state, operation.range)
            for kv in gone:
                del self.state[kv.key]
            self.changed = self.changed or bool(gone)
            return DeleteRangeOutcome(gone)
        return self._put(operation)

    def _put(self, put: Put) -> PutOutcome:
        previous = self.state.get(put.key)
        assert put.value is not None
        kv = KeyValue(
            put.key,
            put.value,
            previous.create_revision if previous else self.revision,
            self.revision,
            previous.version + 1 if previous else 1,
        )
        self.state[put.key] = kv
        self.changed = True
        return PutOutcome(kv, previous)
