"""Fan-out: the hub knows watchers by the range they watch, so that an event costs what its watchers cost.

Watchers of equal ranges share a group; what a publication holds for the group is collected once and
handed to each of its watchers by reference.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence

from kinepy.errors import Compacted, KinepyError, Overloaded, WatchOverflow
from kinepy.keys import KeyRange, prefix_end
from kinepy.log.floors import Floors
from kinepy.log.metrics import StoreMetrics
from kinepy.records import Event, WatchBatch
from kinepy.revision import Revision
from kinepy.settings import Settings

EVENT_OVERHEAD_BYTES = 200


def event_bytes(event: Event) -> int:
    """What an event weighs in a queue, roughly."""
    kv = event.kv
    return len(kv.key) + len(kv.value) + EVENT_OVERHEAD_BYTES


class Subscription:
    """One watcher's queue. Everything after `start` - 1 that matches is in it, once and in order."""

    __slots__ = ("_bytes", "_chunks", "_count", "_delivered", "_error", "_hub", "_waiter", "group", "start")

    def __init__(self, hub: "Hub", group: "Group", start: Revision) -> None:
        self._hub, self.group, self.start = hub, group, start
        self._chunks: list[Sequence[Event]] = []
        self._count = self._bytes = 0
        self._delivered = hub.revision
        self._waiter: asyncio.Future[None] | None = None
        self._error: Exception | None = None

    @property
    def progress(self) -> Revision:
        """Everything matching up to here has been taken."""
        if self._chunks or self._error is not None:
            return self._delivered
        return self._hub.revision

    @property
    def is_pending(self) -> bool:
        """Whether there are events to take."""
        return bool(self._chunks)

    def offer(self, events: Sequence[Event], size_bytes: int, limits: Settings) -> bool:
        """Queue events; False when that would break a bound, after which the queue is given up.

        A chunk always fits an empty queue: a revision is never split, however large it is.
        """
        if self._chunks and (
            self._count + len(events) > limits.watch_queue_events_max
            or self._bytes + size_bytes > limits.watch_queue_bytes_max
        ):
            # What was queued is not delivered: progress stays where it is.
            self._chunks = []
            self._error = WatchOverflow(resume=Revision(max(self._delivered + 1, self.start)))
            self._wake()
            return False
        if not self._chunks:
            # What came before this publication did not match: it counts as delivered.
            self._delivered = self._hub.revision
        self._chunks.append(events)
        self._count += len(events)
        self._bytes += size_bytes
        self._wake()
        return True

    def end(self, error: Exception) -> None:
        """Raise `error` to the watcher after what is queued."""
        if self._error is None:
            if not self._chunks:
                self._delivered = self._hub.revision
            self._error = error
            self._wake()

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def take(self) -> WatchBatch | None:
        """Everything queued, in one go. Raises what ended the watch when nothing is queued."""
        chunks = self._chunks
        if not chunks:
            if self._error is not None:
                raise self._error
            return None
        events = chunks[0] if len(chunks) == 1 else [event for chunk in chunks for event in chunk]
        self._chunks = []
        self._count = self._bytes = 0
        if self._error is None:
            self._delivered = self._hub.revision
        else:
            self._delivered = events[-1].revision
        return WatchBatch(self._delivered, events)

    async def wait(self, timeout_s: float | None) -> bool:
        """Wait until there is something to take; False after the timeout."""
        loop = asyncio.get_running_loop()
        if self._waiter is not None:
            raise RuntimeError("a watch is read by one task at a time")
        if self._chunks or self._error is not None:
            return True
        waiter = self._waiter = loop.create_future()
        timer = None if timeout_s is None else loop.call_later(timeout_s, self._wake)
        try:
            await waiter
        finally:
            self._waiter = None
            if timer is not None:
                timer.cancel()
        return bool(self._chunks) or self._error is not None

    def close(self) -> None:
        """Leave the hub."""
        self._hub.leave(self)
        self._chunks = []
        self._wake()


class Group:
    """The watchers of one range."""

    __slots__ = ("events", "key_range", "members", "size_bytes")

    def __init__(self, key_range: KeyRange) -> None:
        self.key_range = key_range
        # A dictionary for its order: watchers are served in the order in which they came.
        self.members: dict[Subscription, None] = {}
        self.events: list[Event] = []
        self.size_bytes = 0


class Hub:
    """All live watchers of a process, and the revision of the last publication."""

    def __init__(self, settings: Settings, metrics: StoreMetrics) -> None:
        self.revision = Revision(0)
        self._settings, self._metrics = settings, metrics
        self._groups: dict[KeyRange, Group] = {}
        self._singles: dict[bytes, Group] = {}
        self._folders: dict[bytes, Group] = {}
        self._prefixes: dict[bytes, Group] = {}
        self._prefix_lengths: Counter[int] = Counter()
        self._others: dict[KeyRange, Group] = {}

    def subscribe(self, key_range: KeyRange, *, start: Revision | None = None) -> Subscription:
        """A queue of every matching event published from now on with revision >= `start`."""
        if self._metrics.watchers >= self._settings.watchers_max:
            raise Overloaded(what="watchers_max", limit=self._settings.watchers_max)
        group = self._groups.get(key_range)
        if group is None:
            group = self._groups[key_range] = Group(key_range)
            self._place(group)
        subscription = Subscription(self, group, Revision(0) if start is None else start)
        group.members[subscription] = None
        self._metrics.watchers += 1
        return subscription

    def leave(self, subscription: Subscription) -> None:
        """Forget a watcher. Twice is fine."""
        group = subscription.group
        if subscription not in group.members:
            return
        del group.members[subscription]
        self._metrics.watchers -= 1
        if not group.members:
            del self._groups[group.key_range]
            self._displace(group)

    def _place(self, group: Group) -> None:
        key_range = group.key_range
        start = key_range.start
        if key_range.is_single:
            self._singles[start] = group
        elif key_range.end != prefix_end(start):
            self._others[key_range] = group
        elif start.endswith(b"/"):
            self._folders[start] = group
        else:
            self._prefixes[start] = group
            self._prefix_lengths[len(start)] += 1

    def _displace(self, group: Group) -> None:
        key_range = group.key_range
        start = key_range.start
        if key_range.is_single:
            del self._singles[start]
        elif key_range.end != prefix_end(start):
            del self._others[key_range]
        elif start.endswith(b"/"):
            del self._folders[start]
        else:
            del self._prefixes[start]
            self._prefix_lengths[len(start)] -= 1
            if not self._prefix_lengths[len(start)]:
                del self._prefix_lengths[len(start)]

    def _interested(self, key: bytes) -> list[Group]:
        """The groups whose range holds a key."""
        found: list[Group] = []
        if (single := self._singles.get(key)) is not None:
            found.append(single)
        folders = self._folders
        if folders:
            slash = key.find(b"/") + 1
            while slash:
                if (group := folders.get(key[:slash])) is not None:
                    found.append(group)
                slash = key.find(b"/", slash) + 1
        size = len(key)
        for length in self._prefix_lengths:
            # A key shorter than the prefix would be found once more under its own length.
            if length <= size and (group := self._prefixes.get(key[:length])) is not None:
                found.append(group)  # noqa: PERF401  # an expression of three conditions is no clearer
        found.extend(group for group in self._others.values() if key in group.key_range)
        return found

    def publish(self, events: Sequence[Event], revision: Revision) -> None:
        """Hand whole revisions, up to `revision`, to everybody who watches them."""
        self._metrics.events_published += len(events)
        if self._groups:
            hit: dict[Group, None] = {}
            for event in events:
                for group in self._interested(event.kv.key):
                    if not group.events:
                        hit[group] = None
                    group.events.append(event)
                    group.size_bytes += event_bytes(event)
            for group in hit:
                self._deliver(group)
        self.revision = revision

    def _deliver(self, group: Group) -> None:
        events, size_bytes = group.events, group.size_bytes
        group.events, group.size_bytes = [], 0
        first, limits = events[0].revision, self._settings
        for member in tuple(group.members):
            wanted = events
            if member.start > first:
                wanted = [event for event in events if event.revision >= member.start]
                if not wanted:
                    continue
            if not member.offer(wanted, size_bytes, limits):
                self._metrics.watchers_overflowed += 1
                self.leave(member)

    def skip_to(self, revision: Revision, floors: Floors, *, error: KinepyError | None = None) -> None:
        """Go on at a later revision: end the watchers that wait for anything in between, which is never published.

        Those whose range can still be told of all of it may resume; the others get `Compacted`. With an `error` all
        of them get that.
        """
        told = self.revision
        for group in list(self._groups.values()):
            floor = floors.of(group.key_range)
            for member in list(group.members):
                if member.start <= revision:
                    member.end(error or _end_before(Revision(max(told + 1, member.start)), floor))
                    self.leave(member)
        self.revision = revision

    def end_all(self, error: Exception) -> None:
        """End every watch."""
        for group in list(self._groups.values()):
            for member in list(group.members):
                member.end(error)
                self.leave(member)


def _end_before(first: Revision, floor: Revision) -> KinepyError:
    """What a watcher is told from whose first missing revision on nothing is published."""
    return Compacted(requested=first, compacted=floor) if first < floor else WatchOverflow(resume=first)
