"""What a verdict on a request looks at: what happened, and which revisions were current during the call.

A call during which a fail-over lost commits may be answered by what was there before it or by what was there after.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from kinepy import KeyRange, Revision
from kinepy.drivers.base import LogRow
from tests.simulation.history import Call, History
from tests.simulation.reference import Reference, State


class Span(NamedTuple):
    """Revisions low <= revision <= high, without those that had been lost by then."""

    low: Revision
    high: Revision
    lost: Set[Revision]


@dataclass
class Judge:
    """Everything a validator looks at."""

    reference: Reference
    history: History
    rows_of: dict[str, list[LogRow]] = field(default_factory=dict)
    revisions: list[Revision] = field(default_factory=list)

    def __post_init__(self) -> None:
        for rows in self.reference.rows.values():
            for row in rows:
                if row.actor is not None:
                    self.rows_of.setdefault(row.actor, []).append(row)
        self.revisions = sorted(self.reference.states)

    def broken(self, promise: str, call: Call, text: str) -> None:
        """Note a violation by the answer to a request."""
        self.reference.broken(promise, f"{text}; {call}")

    def spans(self, call: Call) -> Iterator[Span]:
        """From what was known when the call began to what was newest when it returned, between the fail-overs."""
        rewinds, low = self.reference.rewinds, call.known
        first, last = call.rewinds
        for number in range(first, last):
            yield Span(low, rewinds[number].newest, rewinds[number].lost)
            low = min(low, rewinds[number].survived)
        lost = rewinds[last].lost if last < len(rewinds) else self.reference.lost
        yield Span(low, call.newest, lost)

    def was_current(self, call: Call, revision: Revision, *, after: bool = False) -> bool:
        """Whether a revision was current at some time during a call; `after`: and came after all that was known."""
        return any(
            low + after <= revision <= high and revision not in lost for low, high, lost in self.spans(call)
        )

    def window(self, call: Call) -> list[Revision]:
        """The revisions that were current at some time during a call."""
        found: list[Revision] = []
        for low, high, lost in self.spans(call):
            first, last = bisect_left(self.revisions, low), bisect_right(self.revisions, high)
            found += [revision for revision in self.revisions[first:last] if revision not in lost]
        return found

    def told(self, call: Call) -> str:
        """The window, to be read."""
        return " or ".join(f"[{low}, {high}]" for low, high, _ in self.spans(call))

    def floor_of(self, call: Call, key_range: KeyRange) -> Revision:
        """The oldest revision at which a range could be read when the answer came, by anybody's knowledge."""
        return self.reference.floor_of(key_range, call.floors, rewinds=call.rewinds[1])

    def state(self, revision: Revision) -> State | None:
        """The state at a revision, if there ever was one."""
        return self.reference.states.get(revision)

    def before(self, revision: Revision) -> State:
        """The state that the change at a revision met."""
        return self.reference.states.get(Revision(revision - 1), {})
