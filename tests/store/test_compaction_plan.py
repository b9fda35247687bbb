"""What the compaction plan decides."""

from hypothesis import given
from hypothesis import strategies as st

from kinepy import KeyRange, Revision
from kinepy.log.compaction import Pace, Progress, parts, resume_point

keys = st.binary(max_size=3)


@given(st.sets(st.sampled_from([b"a", b"a/", b"a/b", b"a/b\xff", b"b", b"\xff", b"\xff\xff"])), keys)
def test_every_key_is_in_the_part_of_its_longest_prefix_and_in_no_other(
    prefixes: set[bytes], key: bytes
) -> None:
    cut = parts(prefixes)
    holders = [prefix for prefix, ranges in cut.items() for each in ranges if key in each]
    assert holders == [max((p for p in {b"", *prefixes} if key.startswith(p)), key=len)]


def test_without_prefixes_there_is_one_part() -> None:
    assert parts([]) == {b"": [KeyRange.everything()]}


def test_the_old_floor_itself_comes_again() -> None:
    assert resume_point(Revision(7)) == 6
    assert resume_point(Revision(0)) == 0


def test_work_on_a_higher_floor_begins_where_the_lower_one_is_surely_done() -> None:
    progress = Progress()
    progress.begin(Revision(10))
    progress.done_upto = Revision(6)
    progress.begin(Revision(10))
    assert progress.done_upto == 6
    progress.begin(Revision(20))
    assert progress.done_upto == 5
    progress.done_floor = Revision(20)
    progress.begin(Revision(30))
    assert progress.done_upto == 19


@given(st.integers(1, 1000), st.lists(st.floats(0, 1), max_size=50))
def test_the_pace_stays_within_its_bounds(most: int, times: list[float]) -> None:
    pace = Pace(most)
    for seconds in times:
        assert 0 <= pace.took(seconds) <= Pace.PAUSE_MAX_S
        assert min(Pace.LEAST, most) <= pace.rows <= most


def longest_at_full_pace(pace: Pace) -> float:
    """After how long a transaction the next ones get shorter."""
    for milliseconds in range(1, 100):
        pace.rows = 1000
        pace.took(milliseconds / 1000)
        if pace.rows < 1000:
            return (milliseconds - 1) / 1000
    raise AssertionError("never")


def test_a_run_that_falls_behind_makes_transactions_longer_and_pauses_shorter() -> None:
    pace = Pace(1000)
    assert longest_at_full_pace(pace) == 0.002
    assert pace.took(0.002) == 0.004
    pace.ran(10.0, interval_s=5.0)
    assert longest_at_full_pace(pace) == 0.002, "late, but not behind"
    for _ in range(9):
        pace.ran(10.1, interval_s=5.0)
    assert longest_at_full_pace(pace) == 0.02
    assert pace.took(0.002) == 0.002


def test_a_run_far_ahead_of_the_next_gives_the_writes_their_time_back() -> None:
    pace = Pace(1000)
    pace.ran(10.1, interval_s=5.0)
    pace.ran(3.0, interval_s=5.0)
    assert longest_at_full_pace(pace) == 0.004, "neither behind nor far ahead"
    pace.ran(2.4, interval_s=5.0)
    assert longest_at_full_pace(pace) == 0.002
