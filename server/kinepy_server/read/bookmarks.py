"""When a watch gets a bookmark, and when it ends (WATCH-4, WATCH-20). Pure: instants come in from outside."""

from dataclasses import dataclass

BEFORE_END_S = 2.0


@dataclass(slots=True)
class Schedule:
    """The instants of one watch, in seconds of a clock that never runs backwards.

    Bookmarks come every `interval_s`, and one shortly before the end, so that the client can go on from
    there; none at all when `interval_s` is None.
    """

    end: float
    interval_s: float | None
    next_bookmark: float = 0.0

    def start(self, now: float) -> None:
        """Plan the first bookmark."""
        self.next_bookmark = self._after(now)

    def wait_s(self, now: float) -> float:
        """How long until something is due."""
        return max(0.0, min(self.end, self.next_bookmark) - now)

    def ended(self, now: float) -> bool:
        """Whether the watch is over."""
        return now >= self.end

    def take_bookmark(self, now: float) -> bool:
        """Whether a bookmark is due; if so, plan the next one."""
        if now < self.next_bookmark:
            return False
        self.next_bookmark = self._after(now)
        return True

    def _after(self, now: float) -> float:
        if self.interval_s is None:
            return self.end
        regular, last = now + self.interval_s, self.end - BEFORE_END_S
        return last if now < last < regular else regular
