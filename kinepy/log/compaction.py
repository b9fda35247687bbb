"""What to compact: pure decisions."""

from collections.abc import Iterator

from kinepy.revision import Revision


def retention_target(
    *, current: Revision, floor: Revision, keep_changes: int, newest_old: Revision | None
) -> Revision:
    """The revision up to which retention gives up history; the floor when there is nothing to give up.

    `newest_old` is the newest revision that is older than the time to keep; None when there is none.
    """
    if newest_old is None:
        return floor
    return Revision(max(floor, min(newest_old, current - keep_changes)))


def windows(*, after: Revision, upto: Revision, step: int) -> Iterator[tuple[Revision, Revision]]:
    """Cut after < revision <= upto into windows of at most `step` revisions."""
    while after < upto:
        last = Revision(min(after + step, upto))
        yield after, last
        after = last


def resume_point(done_floor: Revision) -> Revision:
    """Where a run for a higher floor starts, when one for `done_floor` is complete.

    The rows at exactly the old floor kept their predecessors, and its tombstones, so they come again.
    """
    return Revision(max(done_floor - 1, 0))
