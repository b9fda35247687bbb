"""What retention gives up: pure decisions about revisions."""

from bisect import bisect_right
from typing import NamedTuple

from kinepy.retention import Retention
from kinepy.revision import Revision


class Tally(NamedTuple):
    """How many changes, and how many bytes of them, there are up to a revision and after that of the tally before."""

    upto: Revision
    changes: int
    size_bytes: int


class Ledger:
    """The tallies of one part of the store, by revision. Everything up to `end` has been counted."""

    __slots__ = ("_tallies", "end")

    def __init__(self, begin: Revision) -> None:
        self.end = begin
        self._tallies: list[Tally] = []

    def add(self, tally: Tally) -> None:
        """Count the revisions that follow."""
        self._tallies.append(tally)
        self.end = tally.upto

    def forget(self, floor: Revision) -> None:
        """History below a floor is history no more."""
        del self._tallies[: bisect_right(self._tallies, floor, key=lambda tally: tally.upto)]

    def after_changes(self, keep: int) -> Revision:
        """The newest known revision after which there are at least `keep` changes; 0 when there are not so many."""
        if keep == 0:
            return self.end
        count = 0
        for position in range(len(self._tallies) - 1, 0, -1):
            count += self._tallies[position].changes
            if count >= keep:
                return self._tallies[position - 1].upto
        return Revision(0)

    def within_bytes(self, limit: int) -> Revision:
        """The oldest known revision after which there are at most `limit` bytes; 0 when all there is fits."""
        size = 0
        for tally in reversed(self._tallies):
            size += tally.size_bytes
            if size > limit:
                return tally.upto
        return Revision(0)


def retention_target(
    rule: Retention,
    *,
    floor: Revision,
    current: Revision,
    newest_old: Revision | None,
    newest_spare: Revision | None,
    newest_large: Revision | None,
) -> Revision:
    """The revision up to which a rule gives up history; the floor when there is nothing to give up.

    The newest revision that is older than the rule's age, the newest that is followed by as many changes as it keeps,
    the oldest after which history has the size it may have: None where the rule does not ask for it, or there is none.
    """
    if rule.forever:
        return floor
    given_up = Revision(0)
    if not rule.goes_by_size_only:
        by_age = current if rule.keep_s is None else newest_old or Revision(0)
        by_changes = current if rule.keep_changes is None else newest_spare or Revision(0)
        given_up = min(by_age, by_changes)
    if rule.bytes_max is not None:
        given_up = max(given_up, newest_large or Revision(0))
    return Revision(max(floor, min(given_up, current)))


def needed_floor(*, floor: Revision, target: Revision, superseding: Revision | None) -> Revision:
    """Where the floor must go so that all can be deleted that nobody can see from the target on.

    `superseding` is the newest change below the target that replaced or deleted something. Where nothing was, as in a
    part of the store in which nothing happens, there is nothing to delete, and a reader of old revisions is not to
    be sent away.
    """
    return floor if superseding is None else Revision(max(floor, min(superseding + 1, target)))
