"""What clients do: writers, listers with pages, watchers that resume after every break, a compactor, lease holders."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Final, TypeVar

from kinepy import KeyRange, KeyValue, RangeResult, Revision, Settings, Store, Txn
from kinepy.errors import KinepyError
from tests.simulation import transactions
from tests.simulation.cluster import Cluster, Node, NodeDown
from tests.simulation.faults import Fault
from tests.simulation.history import (
    Call,
    Compact,
    Count,
    Delete,
    Get,
    Grant,
    History,
    KeepAlive,
    List,
    Put,
    Request,
    Revoke,
    Transact,
    Unknown,
    range_of,
)

T = TypeVar("T")

KEYS: Final = (b"/a/1", b"/a/2", b"/a-", b"/b/1", b"/b/1\x00", b"/b/\xff")
RANGES: Final = (
    KeyRange.everything(),
    KeyRange.prefix(b"/a/"),
    KeyRange.prefix(b"/b"),
    KeyRange.single(b"/a/1"),
    KeyRange(b"/a-", b"/b/1\x00"),
)
LEASE_TTL_S_MAX: Final = 4


class Client:
    """Somebody who sends requests to one node after another."""

    def __init__(self, name: str, cluster: Cluster, history: History, random: Random) -> None:
        self.name, self.cluster, self.history, self.random = name, cluster, history, random
        self.last: dict[bytes, Revision] = {}
        self.pace_s = random.choice((0.02, 0.3, 0.3))

    def node(self) -> Node:
        """Which node to ask next."""
        return self.random.choice(self.cluster.nodes)

    async def pause(self) -> None:
        """Think."""
        await asyncio.sleep(self.random.random() * self.pace_s)

    async def send(self, request: Request, node: Node | None = None) -> object:
        """Send a request; returns its answer, or the error that came instead; None when the node is down."""
        node = node or self.node()
        call = self._record(request, node)
        work = self._sender(call)
        patience_s: float | None = None
        if self.cluster.database.faults.happens(Fault.CANCELLED_CALL):
            patience_s = self.random.random() * 0.05
        try:
            async with asyncio.timeout(patience_s):
                return await self.history.call(call, lambda: node.call(work))
        except NodeDown:
            self.history.calls.remove(call)
            await asyncio.sleep(0.5)
            return None
        except (KinepyError, Unknown, TimeoutError) as error:
            return error

    def _record(self, request: Request, node: Node) -> Call:
        history = self.history
        number = len(history.calls) + 1 if not history.calls else history.calls[-1].number + 1
        return Call(
            number=number,
            client=self.name,
            node=node.identity,
            request=request,
            known=history.known,
            node_floor=history.node_floor(node.identity, range_of(request)),
            faulty=self.cluster.database.faults.active,
        )

    def _sender(self, call: Call) -> Callable[[Store], Awaitable[object]]:
        return lambda store: call.request.send(store, call.actor)

    def _value(self) -> bytes:
        return f"{self.name} {self.random.getrandbits(32):08x}".encode()

    def _expected(self, key: bytes) -> Revision | None:
        """Mostly what this client knows of the key, sometimes nothing, sometimes nonsense."""
        draw = self.random.random()
        if draw < 0.15:
            return None
        if draw < 0.25:
            return Revision(self.random.randrange(1, self.history.known + 2))
        return self.last.get(key)

    def _learn(self, result: object) -> None:
        if isinstance(result, KeyValue):
            self.last[result.key] = result.mod_revision
        elif isinstance(current := getattr(result, "current", None), KeyValue):
            self.last[current.key] = current.mod_revision
        elif isinstance(result, RangeResult):
            for item in result.items:
                self.last[item.key] = item.mod_revision

    def _past(self) -> Revision:
        """A revision that may be gone, may be readable, may not be there yet."""
        known = self.history.known
        low = max(1, known - self.random.choice((3, 10, 40)))
        return Revision(self.random.randrange(low, known + 2))


class Writer(Client):
    """Creates, updates, puts, deletes, runs transactions, and reads what it wrote."""

    async def run(self, requests: int) -> None:
        for _ in range(requests):
            self._learn(await self.send(self._next()))
            await self.pause()

    def _next(self) -> Request:
        key, draw = self.random.choice(KEYS), self.random.random()
        if draw < 0.2:
            return Put(verb="create", key=key, value=self._value())
        if draw < 0.5:
            return Put(verb="update", key=key, value=self._value(), expect=self._expected(key))
        if draw < 0.6:
            return Put(verb="put", key=key, value=self._value())
        if draw < 0.75:
            return Delete(key=key, expect=self._expected(key))
        if draw < 0.87:
            return Transact(txn=self._txn())
        if draw < 0.9:
            return self._bad()
        return Get(key=key, at=self._past() if draw > 0.95 else None)

    def _txn(self) -> Txn:
        return transactions.draw(self.random, KEYS, self.last, value=self._value)

    def _bad(self) -> Request:
        """A request that cannot be right; it must fail alone."""
        settings = self.cluster.settings
        return self.random.choice(
            (
                Put(verb="put", key=b"", value=b"x"),
                Put(verb="put", key=b"k" * (settings.key_bytes_max + 1), value=b"x"),
                Put(verb="create", key=b"/a/1", value=b"x" * (settings.value_bytes_max + 1)),
                Put(verb="put", key=b"/a/2", value=b"x", lease=2**40),
                Transact(txn=transactions.twice(b"/b/1")),
            )
        )


class Poller(Client):
    """Reads one key again and again from the same node."""

    async def run(self, requests: int) -> None:
        key, node = self.random.choice(KEYS), self.node()
        for _ in range(requests):
            await self.send(Get(key=key), node)
            await asyncio.sleep(self.random.random() * 0.05)


class Lister(Client):
    """Lists ranges in pages, all at the revision of the first one; counts."""

    async def run(self, requests: int) -> None:
        for _ in range(requests):
            key_range = self.random.choice(RANGES)
            draw = self.random.random()
            if draw < 0.2:
                await self.send(Count(key_range=key_range, at=self._past() if draw < 0.1 else None))
            else:
                await self._list(key_range, self._past() if draw > 0.6 else None)
            await self.pause()

    async def _list(self, key_range: KeyRange, at: Revision | None) -> None:
        limit = self.random.choice((None, 1, 2))
        keys_only = self.random.random() < 0.2
        while True:
            page = await self.send(List(key_range=key_range, at=at, limit=limit, keys_only=keys_only))
            if not isinstance(page, RangeResult):
                return
            if not page.more:
                return
            at, key_range = page.revision, key_range.after(page.items[-1].key)
            if self.random.random() < 0.3:
                await self.pause()


class Compactor(Client):
    """Gives up history by hand, on whichever node."""

    async def run(self, requests: int) -> None:
        for _ in range(requests):
            await asyncio.sleep(self.random.random() * 2.0)
            to = None if self.random.random() < 0.5 else self._past()
            await self.send(Compact(to=to))


class LeaseHolder(Client):
    """Holds leases with keys on them; keeps them alive for a while, revokes some, forgets others."""

    async def run(self, requests: int) -> None:
        for round_number in range(requests):
            lease = self.random.randrange(1, 2**20) * 100 + round_number
            await self.send(Grant(ttl_s=self.random.randrange(1, LEASE_TTL_S_MAX + 1), lease=lease))
            for _ in range(self.random.randrange(1, 4)):
                key = self.random.choice(KEYS)
                self._learn(await self.send(Put(verb="put", key=key, value=self._value(), lease=lease)))
            if self.random.random() < 0.5:
                await asyncio.sleep(self.random.random() * 2.0)
                await self.send(KeepAlive(lease=lease))
            if self.random.random() < 0.3:
                await self.send(Revoke(lease=lease))
            await self.pause()


RETENTION: Final = (
    (),
    (),
    ("/a/=last",),
    ("/b=forever",),
    ("/a/=2s", "/b/1=3"),
    ("/a=1KiB", "/a/=forever", "/b=1s,2KiB"),
    ("forever", "/a/=0s,2"),
)
"""Rules of a run."""


def settings_of(random: Random) -> Settings:
    """Small bounds, different ones for each seed, so that every bound is met now and then."""
    return Settings(
        retention=random.choice(RETENTION),
        postgres_standbys=random.choice(("asynchronous", "asynchronous", "synchronous")),
        key_bytes_max=64,
        value_bytes_max=256,
        transaction_operations_max=8,
        transaction_keys_max=100,
        batch_writes_max=random.choice((1, 2, 8, 64)),
        batch_bytes_max=random.choice((600, 100_000)),
        write_queue_max=random.choice((1, 100, 100, 100)),
        write_timeout_s=20.0,
        lock_timeout_s=3.0,
        poll_interval_s=0.3,
        poll_interval_notified_s=random.choice((0.5, 2.0)),
        index_bytes_max=random.choice((1200, 100_000)),
        cache_bytes_max=random.choice((0, 900, 100_000)),
        ring_bytes_max=random.choice((0, 1500, 100_000)),
        page_rows_max=random.choice((1, 3, 100)),
        watch_queue_events_max=random.choice((2, 6, 1000)),
        compaction_interval_s=5.0,
        compaction_keep_s=random.choice((0.0, 4.0, 3600.0)),
        compaction_keep_changes=random.choice((0, 5, 40)),
        compaction_batch_rows=random.choice((1, 3, 1000)),
    )
