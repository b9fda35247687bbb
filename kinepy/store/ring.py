"""The ring of recent events: serves resuming watches, and recent snapshots by undoing what came after."""

from bisect import bisect_right
from collections.abc import Sequence

from kinepy.keys import KeyRange
from kinepy.records import Event, KeyValue
from kinepy.revision import Revision
from kinepy.settings import Settings

EVENT_OVERHEAD_BYTES = 450
WASTE_MIN = 1024


def event_bytes(event: Event) -> int:
    """What an event holds in memory, roughly, with a face's encoded form of it."""
    return 2 * len(event.kv.value) + len(event.kv.key) + EVENT_OVERHEAD_BYTES


def _revision(event: Event) -> Revision:
    return event.kv.mod_revision


class Ring:
    """Every event after `floor`, up to the applied revision, in order."""

    def __init__(self, settings: Settings) -> None:
        self._bytes_max = settings.ring_bytes_max
        self.reset(Revision(0))

    def reset(self, revision: Revision) -> None:
        """Forget everything; events after `revision` follow."""
        self.floor = revision
        self.size_bytes = 0
        self._events: list[Event] = []
        # Events before this position have been let go; the list is shortened when they are many.
        self._first = 0

    def __len__(self) -> int:
        return len(self._events) - self._first

    def append(self, events: Sequence[Event]) -> None:
        """Add whole revisions that follow."""
        self._events.extend(events)
        self.size_bytes += sum(map(event_bytes, events))
        if self.size_bytes > self._bytes_max:
            self._shrink()

    def _shrink(self) -> None:
        events, first = self._events, self._first
        while first < len(events) and (
            self.size_bytes > self._bytes_max or events[first].kv.mod_revision == self.floor
        ):
            event = events[first]
            self.floor = event.kv.mod_revision
            self.size_bytes -= event_bytes(event)
            first += 1
        self._first = first
        if first > WASTE_MIN and first * 8 > len(events):
            del events[:first]
            self._first = 0

    def covers(self, after: Revision) -> bool:
        """Whether every event after a revision is here."""
        return after >= self.floor

    def page(
        self, key_range: KeyRange, *, after: Revision, limit: int
    ) -> tuple[list[Event], Revision | None]:
        """Matching events among the next `limit` ones, and the revision that they reach; None is the newest one."""
        events = self._events
        first = bisect_right(events, after, lo=self._first, key=_revision)
        last = min(first + limit, len(events))
        reached: Revision | None = None
        if last < len(events):
            reached = events[last - 1].revision
            while last < len(events) and events[last].revision == reached:
                last += 1
            if last == len(events):
                reached = None
        start, end = key_range.start, key_range.end
        if end is None:
            return [event for event in events[first:last] if event.kv.key >= start], reached
        return [event for event in events[first:last] if start <= event.kv.key < end], reached

    def undo(self, key_range: KeyRange, *, after: Revision) -> dict[bytes, KeyValue | None]:
        """What the range's keys that changed after a revision held at it."""
        held: dict[bytes, KeyValue | None] = {}
        first = bisect_right(self._events, after, lo=self._first, key=_revision)
        for position in range(first, len(self._events)):
            event = self._events[position]
            key = event.kv.key
            if key not in held and key in key_range:
                held[key] = event.previous
        return held
