"""What the clients did and saw: every request with its call, its return, or the lack of one."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from kinepy import Event, KeyRange, Revision, Store, Txn
from kinepy.errors import KeyExists, RevisionConflict, RevisionInFuture
from tests.simulation.floors import Floors, floor_of
from tests.simulation.reference import Reference


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """A write of one key: `create`, `update` (of `expect`, if given) or `put`."""

    verb: str
    key: bytes
    value: bytes
    expect: Revision | None = None
    lease: int | None = None

    async def send(self, store: Store, actor: str) -> object:
        if self.verb == "create":
            return await store.create(self.key, self.value, lease=self.lease, actor=actor)
        if self.verb == "put":
            return await store.put(self.key, self.value, lease=self.lease, actor=actor)
        return await store.update(self.key, self.value, expect=self.expect, lease=self.lease, actor=actor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """A delete of one key."""

    key: bytes
    expect: Revision | None = None

    async def send(self, store: Store, actor: str) -> object:
        return await store.delete(self.key, expect=self.expect, actor=actor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transact:
    """A transaction."""

    txn: Txn

    async def send(self, store: Store, actor: str) -> object:
        return await store.txn(self.txn, actor=actor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Get:
    """A read of one key."""

    key: bytes
    at: Revision | None = None

    async def send(self, store: Store, _: str) -> object:
        return await store.get(self.key, at=self.at)


@dataclass(frozen=True, slots=True, kw_only=True)
class List:
    """A read of a range, or of its first page."""

    key_range: KeyRange
    at: Revision | None = None
    limit: int | None = None
    keys_only: bool = False

    async def send(self, store: Store, _: str) -> object:
        return await store.range(self.key_range, at=self.at, limit=self.limit, keys_only=self.keys_only)


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How many keys a range holds."""

    key_range: KeyRange
    at: Revision | None = None

    async def send(self, store: Store, _: str) -> object:
        return await store.count(self.key_range, at=self.at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compact:
    """Give up history."""

    to: Revision | None

    async def send(self, store: Store, _: str) -> object:
        return await store.compact(self.to)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A new lease."""

    ttl_s: int
    lease: int

    async def send(self, store: Store, _: str) -> object:
        return await store.grant_lease(self.ttl_s, lease=self.lease)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepAlive:
    """More time for a lease."""

    lease: int

    async def send(self, store: Store, _: str) -> object:
        return await store.keep_lease_alive(self.lease)


@dataclass(frozen=True, slots=True, kw_only=True)
class Revoke:
    """The end of a lease."""

    lease: int

    async def send(self, store: Store, _: str) -> object:
        return await store.revoke_lease(self.lease)


Request: TypeAlias = Put | Delete | Transact | Get | List | Count | Compact | Grant | KeepAlive | Revoke
WRITES: Final = (Put, Delete, Transact)


def range_of(request: Request) -> KeyRange:
    """What a request asks for."""
    if isinstance(request, Get):
        return KeyRange.single(request.key)
    return request.key_range if isinstance(request, List | Count) else KeyRange.everything()


class Unknown(Exception):
    """No answer came: the node died, or the client gave up waiting."""


@dataclass(slots=True, kw_only=True)
class Call:
    """One request. `result` is the answer, the error raised, or `Unknown`."""

    number: int
    client: str
    node: str
    request: Request
    known: Revision
    """the newest revision that any client knew of when the request was sent"""
    node_floor: Revision
    """the newest compact revision of what is asked for that this node had acknowledged"""
    faulty: bool
    """faults might still strike"""
    result: object = None
    newest: Revision = Revision(0)
    """the newest committed revision when the answer came"""
    floors: Floors = field(default_factory=dict)
    """the floors when the answer came"""
    took_s: float = 0.0
    commits: tuple[int, int] = (0, 0)
    """how many transactions had been committed at the call and at the return"""
    rewinds: tuple[int, int] = (0, 0)
    """how many fail-overs there had been that lost something"""

    @property
    def actor(self) -> str:
        """The name under which its rows stand in the log."""
        return f"call-{self.number}"

    def __str__(self) -> str:
        return f"{self.actor} of {self.client} on {self.node}: {self.request} -> {self.result!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What a watch said at once; `newest` is the newest committed revision at that time."""

    events: Sequence[Event]
    progress: Revision
    newest: Revision


@dataclass(slots=True, kw_only=True)
class Session:
    """One watch from its start to its end. `start` is the first revision it owes."""

    client: str
    node: str
    key_range: KeyRange
    start: Revision
    queue_max: int
    publication_max: int
    """how many events one batch, or one page, may hold"""
    deliveries: list[Delivery] = field(default_factory=list)
    ended: Exception | None = None

    @property
    def progress(self) -> Revision:
        """Up to where the watch says that everything was delivered."""
        return self.deliveries[-1].progress if self.deliveries else Revision(self.start - 1)

    def __str__(self) -> str:
        return f"watch of {self.client} on {self.node} from {self.start}"


@dataclass
class History:
    """All calls and all watches."""

    reference: Reference
    trace: Callable[[str], None]
    now: Callable[[], float]
    prefixes: Sequence[bytes] = (b"",)
    """those with a rule of retention"""
    spared: Sequence[bytes] = ()
    """those that compaction by hand leaves alone"""
    calls: list[Call] = field(default_factory=list)
    sessions: list[Session] = field(default_factory=list)
    _known: Revision = Revision(1)
    _rewinds: int = 0
    _floors: dict[str, Revision] = field(default_factory=dict)

    @property
    def known(self) -> Revision:
        """The newest revision that a client knows of and that is not lost; an epoch of which everybody is told is
        known at once."""
        for rewind in self.reference.rewinds[self._rewinds :]:
            self._known = min(self._known, rewind.survived)
        self._rewinds = len(self.reference.rewinds)
        return max(self._known, self.reference.announced)

    def learn(self, revision: Revision) -> None:
        """A client saw a revision."""
        self.reference.shown = max(self.reference.shown, revision)
        if not self.reference.is_lost(revision):
            self._known = max(self.known, min(revision, self.reference.newest))

    async def call(self, call: Call, send: Callable[[], Awaitable[object]]) -> object:
        """Send a request and record what comes of it. Raises what it raised."""
        self.calls.append(call)
        reference = self.reference
        commits, rewinds, begun_s = len(reference.commits), len(reference.rewinds), self.now()
        try:
            call.result = await send()
        except Exception as error:
            call.result = error
            raise
        except BaseException:
            call.result = Unknown("cancelled")
            raise
        finally:
            call.newest, call.floors = reference.newest, reference.floors
            call.commits = commits, len(reference.commits)
            call.rewinds = rewinds, len(reference.rewinds)
            call.took_s = self.now() - begun_s
            self._learn_of(call.result)
            self.trace(f"{call.client} {type(call.request).__name__} {call.number} -> {_told(call.result)}")
        if isinstance(call.request, Compact) and isinstance(call.result, int):
            self._floors[call.node] = max(self._floors.get(call.node, Revision(0)), Revision(call.result))
        return call.result

    def _learn_of(self, result: object) -> None:
        """Answers tell revisions, and so do errors."""
        revision = _revision_of(result)
        if revision is not None:
            self.learn(revision)

    def node_floor(self, node: str, key_range: KeyRange) -> Revision:
        """The newest compact revision that a node has acknowledged for all of a range."""
        acknowledged = self._floors.get(node, Revision(0))
        nothing = Revision(0)
        floors = {prefix: nothing if prefix in self.spared else acknowledged for prefix in self.prefixes}
        return floor_of(floors, key_range)

    def deliver(self, session: Session, events: Sequence[Event], progress: Revision) -> None:
        """A watch told something."""
        newest = self.reference.seen
        session.deliveries.append(Delivery(events=events, progress=progress, newest=newest))
        self.learn(min(progress, newest))
        if events:
            told = " ".join(f"{e.revision}:{e.kv.key.decode('latin-1')}" for e in events)
            self.trace(f"{session.client} sees {told} up to {progress}")


def _revision_of(result: object) -> Revision | None:
    if isinstance(result, KeyExists | RevisionConflict):
        return result.current.mod_revision
    if isinstance(result, RevisionInFuture):
        return result.current
    for name in ("mod_revision", "revision"):
        revision = getattr(result, name, None)
        if isinstance(revision, int):
            return Revision(revision)
    return Revision(result) if isinstance(result, int) else None


def _told(result: object) -> str:
    if isinstance(result, Exception):
        return f"{type(result).__name__} {result}"
    revision = _revision_of(result)
    return type(result).__name__ if revision is None else f"{type(result).__name__} at {revision}"
