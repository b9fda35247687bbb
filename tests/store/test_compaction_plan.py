"""What retention and the compaction plan decide."""

from hypothesis import given
from hypothesis import strategies as st

from kinepy import Revision
from kinepy.log.compaction import resume_point, retention_target, windows

revisions = st.integers(1, 10_000).map(Revision)


@given(revisions, revisions, st.integers(0, 10_000), st.none() | revisions)
def test_retention_never_lowers_the_floor_nor_takes_what_is_kept(
    current: Revision, floor: Revision, keep_changes: int, newest_old: Revision | None
) -> None:
    target = retention_target(current=current, floor=floor, keep_changes=keep_changes, newest_old=newest_old)
    assert target >= floor
    if target > floor:
        assert newest_old is not None and target <= newest_old and target <= current - keep_changes


@given(st.integers(0, 500), st.integers(0, 500), st.integers(1, 50))
def test_windows_cover_everything_once(after: int, upto: int, step: int) -> None:
    cut = list(windows(after=Revision(after), upto=Revision(upto), step=step))
    covered = [revision for low, high in cut for revision in range(low + 1, high + 1)]
    assert covered == list(range(after + 1, upto + 1))
    assert all(high - low <= step for low, high in cut)


def test_the_old_floor_itself_comes_again() -> None:
    assert resume_point(Revision(7)) == 6
    assert resume_point(Revision(0)) == 0
