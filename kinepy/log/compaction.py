"""How a compaction goes about its work: pure decisions."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from kinepy.keys import KeyRange, prefix_end
from kinepy.revision import Revision


def resume_point(done_floor: Revision) -> Revision:
    """Where a run for a higher floor starts, when one for `done_floor` is complete.

    The rows at exactly the old floor kept their predecessors, and its tombstones, so they come again.
    """
    return Revision(max(done_floor - 1, 0))


def parts(prefixes: Collection[bytes]) -> Mapping[bytes, Sequence[KeyRange]]:
    """Cut all keys into ranges: those of a prefix hold its keys, but not those of a longer prefix.

    b"" is always among the prefixes. Together the ranges hold every key once.
    """
    found: dict[bytes, list[KeyRange]] = {prefix: [] for prefix in dict.fromkeys((b"", *prefixes))}
    ends = {end for prefix in found if (end := prefix_end(prefix)) is not None}
    edges = sorted({*found, *ends})
    for start, end in zip(edges, [*edges[1:], None], strict=True):
        owner = max((prefix for prefix in found if start in KeyRange.prefix(prefix)), key=len)
        found[owner].append(KeyRange(start, end))
    return found


@dataclass(slots=True)
class Progress:
    """How far the rows of one range have been deleted, as far as this process knows."""

    done_floor: Revision = Revision(0)
    """Everything for this floor has been deleted."""
    working_floor: Revision = Revision(0)
    """The floor that is being worked on."""
    done_upto: Revision = Revision(0)
    """Everything up to here has been deleted for the floor that is being worked on."""

    def begin(self, floor: Revision) -> None:
        """Work on a floor: from where the work on it stopped, or from where an earlier one makes it sure."""
        if floor != self.working_floor:
            self.working_floor = floor
            # What was deleted for a lower floor need not be looked at again, except around that floor.
            self.done_upto = resume_point(max(self.done_floor, min(self.done_upto, floor)))


class Pace:
    """How many revisions the next short transaction looks at, and how long the writes have for themselves after it.

    Writes wait while it runs, so it is short, and the pause after it is long. A run that takes very long
    falls behind the writes: then transactions get longer, since each costs something by itself, and pauses shorter.
    """

    __slots__ = ("_most", "_short_s", "rows")

    SHORTEST_S, LONGEST_S = 0.002, 0.02
    PAUSES = 2.0
    PAUSE_MAX_S = 0.02
    LEAST = 50

    def __init__(self, most: int) -> None:
        self._most = self.rows = most
        self._short_s = self.SHORTEST_S

    def took(self, seconds: float) -> float:
        """Learn from the last transaction; returns how long to pause. Much of its time it may itself have waited."""
        if seconds > self._short_s:
            self.rows = max(self.rows // 2, min(self.LEAST, self._most))
        elif seconds < self._short_s / 2:
            self.rows = min(self.rows * 2, self._most)
        pauses = max(self.PAUSES * self.SHORTEST_S / self._short_s, 1.0)
        return min(seconds * pauses, self.PAUSE_MAX_S)

    def ran(self, seconds: float, *, interval_s: float) -> None:
        """Learn from a whole run. The next one begins `interval_s` after its end, so that they may overrun it."""
        if seconds > 2 * interval_s:
            self._short_s = min(self._short_s * 2, self.LONGEST_S)
        elif seconds < interval_s / 2:
            self._short_s = max(self._short_s / 2, self.SHORTEST_S)
