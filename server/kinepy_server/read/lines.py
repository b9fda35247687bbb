"""The lines of a watch, or its frames: one per event, encoded once for all watchers (WATCH-3, WATCH-6)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Protocol

from kinepy import Event, EventType, KeyValue
from kinepy_server.line_cache import LineCache

ADDED, MODIFIED, DELETED, BOOKMARK, ERROR = "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"


class Shown(Protocol):
    """What the lines need of a view."""

    @property
    def line_key(self) -> str: ...

    def watched(self, kv: KeyValue, revision: int) -> bytes: ...

    def event(self, event_type: str, obj: bytes) -> bytes: ...


def transition(*, was: bool, now: bool) -> str | None:
    """How a change looks to a watcher, who saw the object if it matched before: None when it sees nothing."""
    if now:
        return MODIFIED if was else ADDED
    return DELETED if was else None


@lru_cache(maxsize=1024)
def _line_keys(line_key: str) -> Mapping[str, str]:
    return {name: f"{line_key} {name}" for name in (ADDED, MODIFIED, DELETED)}


class LineEncoder:
    """Turns events into lines for one watcher, sharing what other watchers have encoded already."""

    def __init__(self, view: Shown, matches: Callable[[KeyValue], bool] | None, cache: LineCache) -> None:
        self._view, self._matches, self._cache = view, matches, cache
        self._keys = _line_keys(view.line_key)

    def lines(self, events: Iterable[Event]) -> bytes:
        """The lines of all events that the watcher sees, ready to be sent at once."""
        parts = []
        for event in events:
            seen = self._type(event)
            if seen is not None:
                face = event.face
                found = face.get(self._keys[seen]) if isinstance(face, dict) else None
                parts.append(found or self._encode(event, seen))
        return b"".join(parts)

    def initial(self, kvs: Sequence[KeyValue]) -> bytes:
        """The lines of those objects of the first state that the watcher sees."""
        watched, told, matches = self._view.watched, self._view.event, self._matches
        return b"".join(
            [told(ADDED, watched(kv, kv.mod_revision)) for kv in kvs if matches is None or matches(kv)]
        )

    def _type(self, event: Event) -> str | None:
        matches, previous = self._matches, event.previous
        is_put = event.type is EventType.PUT
        if matches is None:
            return transition(was=previous is not None, now=is_put)
        return transition(was=previous is not None and matches(previous), now=is_put and matches(event.kv))

    def _encode(self, event: Event, seen: str) -> bytes:
        # What leaves is shown as it last was, with the revision at which it left.
        shown = event.previous if seen == DELETED else event.kv
        assert shown is not None, "only what was there can leave"
        encoded = self._view.event(seen, self._view.watched(shown, event.kv.mod_revision))
        if self._view.line_key:
            self._cache.keep(event, self._keys[seen], encoded)
        return encoded
