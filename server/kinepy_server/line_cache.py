"""Watch lines are encoded once and shared by all watchers, within a bound.

A line is kept in its event's `face`, so finding it costs one look-up. The cache remembers where lines
are, oldest first, and takes them away again when they hold more bytes than allowed: a line is needed for
as long as the fan-out of its event takes, and by watches that resume a little later.
"""

from collections import deque

from kinepy import Event


class LineCache:
    """The encoded lines of recent events, at most `bytes_max` bytes of them."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._kept: deque[tuple[Event, str]] = deque()
        self.bytes = 0

    def keep(self, event: Event, key: str, line: bytes) -> None:
        """Keep a line under `key` in the event's face. The key names type and representation."""
        face = event.face
        if not isinstance(face, dict):
            face = event.face = {}
        face[key] = line
        self._kept.append((event, key))
        self.bytes += len(line)
        while self.bytes > self._bytes_max and self._kept:
            old, old_key = self._kept.popleft()
            if isinstance(old.face, dict):
                self.bytes -= len(old.face.pop(old_key, b""))
