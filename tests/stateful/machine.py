"""The store against the model: whatever the order of operations, both give the same results and the same errors."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule

from kinepy import (
    Compare,
    CompareOperator,
    CompareTarget,
    DeleteRange,
    KeyRange,
    Put,
    Range,
    Revision,
    Settings,
    Store,
    Txn,
    Watch,
)
from kinepy.errors import InvalidRequest, KinepyError
from kinepy.records import Operation
from kinepy.store.txn import check_txn
from tests.contract.stores import FAST, checked_store, events_upto
from tests.reference.mvcc import Model

KEYS = [b"/a", b"/a/", b"/a/1", b"/a-", b"/b\x00", b"\xff"]
keys = st.sampled_from(KEYS)
values = st.binary(max_size=3)
ranges = st.one_of(
    st.sampled_from(
        [KeyRange.everything(), KeyRange.prefix(b"/a"), KeyRange.prefix(b"/a/"), KeyRange(b"/b", None)]
    ),
    keys.map(KeyRange.single),
    st.builds(KeyRange, keys, keys),
)
# How far from the newest revision something is asked for: mostly what exists, sometimes the future.
ages = st.integers(-2, 12)
limits = st.none() | st.integers(1, 4)

integer_compares = st.builds(
    Compare,
    ranges,
    st.sampled_from([CompareTarget.VERSION, CompareTarget.CREATE_REVISION, CompareTarget.MOD_REVISION]),
    st.sampled_from(CompareOperator),
    st.integers(0, 8),
)
value_compares = st.builds(
    Compare, ranges, st.just(CompareTarget.VALUE), st.sampled_from(CompareOperator), values
)
operations = st.one_of(
    st.builds(Put, key=keys, value=st.none() | values, keep_lease=st.booleans()),
    st.builds(DeleteRange, range=ranges),
    st.builds(Range, range=ranges, limit=limits, count_only=st.booleans()),
)


def branches(inner: st.SearchStrategy[Operation]) -> st.SearchStrategy[list[Operation]]:
    """Lists of operations, most of which write no key twice."""
    return st.lists(inner, max_size=3, unique_by=lambda operation: getattr(operation, "key", id(operation)))


def txns(inner: st.SearchStrategy[Operation]) -> st.SearchStrategy[Txn]:
    """Transactions over operations."""
    return st.builds(
        Txn,
        compares=st.lists(integer_compares | value_compares, max_size=2),
        then=branches(inner),
        otherwise=branches(inner),
    )


@dataclass
class _OpenWatch:
    """A watch, and the first revision that it has not told yet."""

    watch: Watch
    key_range: KeyRange
    first: Revision


class StoreMachine(RuleBasedStateMachine):
    """One store, one model. Subclasses say which database."""

    fresh_url: ClassVar[Callable[[], str]]
    settings: ClassVar[Settings] = FAST
    durable: ClassVar[bool] = True

    leases: ClassVar[Bundle[int]] = Bundle("leases")

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.model = Model()
        self.stack = AsyncExitStack()
        self.store: Store
        self.open_watches: list[_OpenWatch] = []

    # --- the store's life

    @initialize()
    def open(self) -> None:
        self.url = type(self).fresh_url()
        self.runner.run(self._open())

    async def _open(self) -> None:
        self.store = await self.stack.enter_async_context(checked_store(self.url, self.settings))

    @rule()
    def reopen(self) -> None:
        if self.durable:
            self.open_watches.clear()
            self.runner.run(self.stack.aclose())
            self.runner.run(self._open())

    def teardown(self) -> None:
        self.runner.run(self.stack.aclose())
        self.runner.close()

    def same(self, ours: Callable[[], Awaitable[object]], theirs: Callable[[], object]) -> None:
        """Both give equal results, or raise errors of one type with equal text."""
        try:
            wanted = theirs()
        except KinepyError as error:
            wanted = (type(error), str(error))

        async def run() -> object:
            try:
                return await ours()
            except KinepyError as error:
                return type(error), str(error)

        result = self.runner.run(run())
        assert result == wanted, (result, wanted)

    def _at(self, age: int | None) -> Revision | None:
        return None if age is None else Revision(max(self.model.revision - age, 0))

    # --- writing

    @rule(key=keys, value=values)
    def create(self, key: bytes, value: bytes) -> None:
        self.same(lambda: self.store.create(key, value), lambda: self.model.create(key, value))

    @rule(key=keys, value=values)
    def put(self, key: bytes, value: bytes) -> None:
        self.same(lambda: self.store.put(key, value), lambda: self.model.put(key, value))

    def _expectation(self, key: bytes, age: int | None) -> Revision | None:
        """None, the key's own revision, or another one."""
        current = self.model.get(key)
        return current.mod_revision if age == 0 and current is not None else self._at(age)

    @rule(key=keys, value=values, age=st.none() | st.just(0) | ages)
    def update(self, key: bytes, value: bytes, age: int | None) -> None:
        expect = self._expectation(key, age)
        self.same(
            lambda: self.store.update(key, value, expect=expect),
            lambda: self.model.update(key, value, expect),
        )

    @rule(key=keys, age=st.none() | st.just(0) | ages)
    def delete(self, key: bytes, age: int | None) -> None:
        expect = self._expectation(key, age)
        self.same(lambda: self.store.delete(key, expect=expect), lambda: self.model.delete(key, expect))

    @rule(txn=txns(operations | txns(operations)))
    def txn(self, txn: Txn) -> None:
        # What is refused whatever the store holds is no matter for the model.
        with suppress(InvalidRequest):
            check_txn(txn, self.settings)
            self.same(lambda: self.store.txn(txn), lambda: self.model.txn(txn))

    # --- reading

    @rule(key=keys, age=st.none() | ages)
    def get(self, key: bytes, age: int | None) -> None:
        at = self._at(age)
        self.same(lambda: self.store.get(key, at=at), lambda: self.model.get(key, at))

    @rule(key_range=ranges, age=st.none() | ages, limit=limits)
    def range(self, key_range: KeyRange, age: int | None, limit: int | None) -> None:
        at = self._at(age)
        self.same(
            lambda: self.store.range(key_range, at=at, limit=limit),
            lambda: self.model.range(key_range, at, limit),
        )

    @rule(key_range=ranges, age=st.none() | ages)
    def count(self, key_range: KeyRange, age: int | None) -> None:
        at = self._at(age)

        async def ours() -> int:
            return (await self.store.count(key_range, at=at)).count

        self.same(ours, lambda: self.model.range(key_range, at).total)

    # --- leases

    @rule(target=leases)
    def grant(self) -> int:
        lease = self.runner.run(self.store.grant_lease(3600)).id
        self.model.leases.add(lease)
        return lease

    @rule(lease=leases, key=keys)
    def attach(self, lease: int, key: bytes) -> None:
        self.same(
            lambda: self.store.put(key, b"leased", lease=lease), lambda: self.model.put(key, b"leased", lease)
        )

    @rule(lease=leases)
    def revoke(self, lease: int) -> None:
        self.same(lambda: self.store.revoke_lease(lease), lambda: self.model.revoke(lease))

    # --- history

    @rule(age=st.none() | ages)
    def compact(self, age: int | None) -> None:
        to = self._at(age)
        self.same(lambda: self.store.compact(to), lambda: self.model.compact(to))

    @rule(key_range=ranges, age=st.none() | ages)
    def watch(self, key_range: KeyRange, age: int | None) -> None:
        start = self._at(age)
        first = Revision(self.model.revision + 1) if start is None else start
        watch = self.store.watch(key_range, start=start)
        if first < self.model.floor:
            self.same(lambda: watch.next(timeout_s=0), lambda: self.model.since(key_range, first))
        else:
            # What it has to tell of the past is told now: a compaction may take it away.
            self.open_watches.append(_OpenWatch(watch, key_range, first))
            self.drain(len(self.open_watches) - 1)

    @precondition(lambda self: self.open_watches)
    @rule(number=st.integers(0, 5))
    def drain(self, number: int) -> None:
        opened = self.open_watches[number % len(self.open_watches)]
        told = self.runner.run(events_upto(opened.watch, self.model.revision))
        assert told == [
            event
            for event in self.model.events
            if event.revision >= opened.first and event.kv.key in opened.key_range
        ]
        opened.first = Revision(max(opened.first, self.model.revision + 1))

    @invariant()
    def revisions_agree(self) -> None:
        if hasattr(self, "store"):
            assert self.runner.run(self.store.current_revision()) == self.model.revision
