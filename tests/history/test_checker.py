"""The history checker accepts what a sound store may do, and names what none may."""

from dataclasses import replace

import pytest

from tests.history.check import problems_of
from tests.history.records import Call, History, Kind, Outcome, Row, Seen, Watched

ROWS = (Row(2, "a", "v1"), Row(3, "b", "w1"), Row(5, "a", "v2"), Row(6, "a", None), Row(7, "a", "v3"))
EVENTS = (
    Seen(2, "ADDED", "a", "v1"),
    Seen(3, "ADDED", "b", "w1"),
    Seen(5, "MODIFIED", "a", "v2"),
    Seen(6, "DELETED", "a", "v2"),
    Seen(7, "ADDED", "a", "v3"),
)
CALLS = (
    Call(Kind.CREATE, "a", 0, "v1", returned=1, outcome=Outcome.DONE, revision=2),
    Call(Kind.CREATE, "b", 0, "w1", returned=2, outcome=Outcome.DONE, revision=3),
    Call(Kind.UPDATE, "a", 3, "v2", expect=2, returned=4, outcome=Outcome.DONE, revision=5),
    Call(Kind.DELETE, "a", 5, expect=5, returned=6, outcome=Outcome.DONE),
    Call(Kind.CREATE, "a", 7, "v3", returned=8, outcome=Outcome.DONE, revision=7),
)


def get(called: float, returned: float, revision: int, seen: str) -> Call:
    outcome = Outcome.DONE if revision else Outcome.ABSENT
    return Call(Kind.GET, "a", called, returned=returned, outcome=outcome, revision=revision, seen=seen)


def problems(*more: Call, calls: tuple[Call, ...] = CALLS, rows: tuple[Row, ...] = ROWS) -> list[str]:
    return problems_of(History([*calls, *more]), rows)


def only(found: list[str], start: str) -> None:
    """There are problems, and all are of one kind."""
    assert found
    assert all(problem.startswith(start) for problem in found), found


FINE = [
    get(0.5, 0.6, 0, ""),
    get(0.5, 0.6, 2, "v1"),
    get(3.5, 3.6, 2, "v1"),
    get(3.5, 3.6, 5, "v2"),
    get(5.5, 5.6, 0, ""),
    Call(Kind.LIST, "", 2.5, returned=2.6, outcome=Outcome.DONE, revision=4, items={"a": 2, "b": 3}),
    Call(Kind.CREATE, "a", 1.5, "x", returned=2, outcome=Outcome.EXISTS),
    Call(Kind.UPDATE, "a", 4, "x", expect=2, returned=5, outcome=Outcome.CONFLICT),
    Call(Kind.UPDATE, "c", 4, "x", expect=2, returned=5, outcome=Outcome.ABSENT),
    Call(Kind.UPDATE, "a", 4, "x", expect=5),
    Call(Kind.DELETE, "a", 4, expect=5),
    Call(Kind.DELETE, "a", 9, expect=5),
    Call(Kind.CREATE, "c", 4, "x", returned=5, outcome=Outcome.UNDONE),
    Call(Kind.GET, "a", 4),
]


def test_a_sound_history_is_accepted() -> None:
    assert problems() == []


@pytest.mark.parametrize("call", FINE, ids=str)
def test_what_a_sound_store_may_say_is_accepted(call: Call) -> None:
    assert problems(call) == []


STALE = [
    get(4.5, 4.6, 2, "v1"),
    get(6.5, 6.6, 5, "v2"),
    get(1.5, 1.6, 0, ""),
    Call(Kind.LIST, "", 4.5, returned=4.6, outcome=Outcome.DONE, revision=4, items={"a": 2, "b": 3}),
    Call(Kind.UPDATE, "a", 1.5, "x", expect=2, returned=2.5, outcome=Outcome.CONFLICT),
    Call(Kind.UPDATE, "a", 1.5, "x", expect=2, returned=2.5, outcome=Outcome.ABSENT),
    Call(Kind.CREATE, "a", 6.2, "x", returned=6.5, outcome=Outcome.EXISTS),
]


@pytest.mark.parametrize("call", STALE, ids=str)
def test_what_is_older_or_newer_than_it_may_be_is_named(call: Call) -> None:
    only(problems(call), "out of time")


def test_reads_do_not_go_back() -> None:
    only(problems(get(3.1, 3.2, 5, "v2"), get(3.3, 3.4, 2, "v1")), "out of time")


def test_a_write_is_not_placed_before_what_was_read_before_it() -> None:
    only(problems(get(0.1, 0.2, 2, "v1"), calls=(replace(CALLS[0], called=0.5), *CALLS[1:])), "out of time")


def test_a_lost_write_is_named() -> None:
    only(problems(Call(Kind.CREATE, "c", 1, "x", returned=2, outcome=Outcome.DONE, revision=4)), "lost")


def test_a_lost_delete_is_named() -> None:
    only(problems(Call(Kind.DELETE, "b", 4, expect=3, returned=5, outcome=Outcome.DONE)), "lost")


def test_another_revision_than_was_told_is_named() -> None:
    found = problems(calls=(replace(CALLS[0], revision=3), *CALLS[1:]))
    assert found[0].startswith("lost")


def test_a_refused_write_that_was_done_is_named() -> None:
    found = problems(calls=(*CALLS[:4], replace(CALLS[4], outcome=Outcome.UNDONE)))
    assert next(problem.split(":")[0] for problem in found) == "refused, yet done"


def test_a_lost_update_is_named() -> None:
    rows = (Row(2, "a", "v1"), Row(3, "a", "v2"), Row(4, "a", "v3"))
    calls = (
        CALLS[0],
        Call(Kind.UPDATE, "a", 2, "v2", expect=2, returned=3, outcome=Outcome.DONE, revision=3),
        Call(Kind.UPDATE, "a", 2, "v3", expect=2, returned=3, outcome=Outcome.DONE, revision=4),
    )
    only(problems(calls=calls, rows=rows), "done against its expectation")


def test_a_key_created_twice_is_named() -> None:
    rows, twice = (Row(2, "a", "v1"), Row(3, "a", "v2")), replace(CALLS[0], value="v2", revision=3)
    only(problems(calls=(CALLS[0], twice), rows=rows), "done against its expectation")


def test_a_write_done_twice_is_named() -> None:
    found = problems(calls=CALLS[:1], rows=(Row(2, "a", "v1"), Row(3, "a", "v1")))
    assert "log: value 'v1' was written 2 times" in found


def test_one_row_of_two_deletes_is_named() -> None:
    only(problems(CALLS[3]), "two calls made one row")


def test_an_unknown_write_explains_a_row() -> None:
    rows = (*ROWS, Row(8, "a", "x"))
    assert problems(Call(Kind.UPDATE, "a", 9, "x", expect=7), rows=rows) == []
    only(problems(rows=rows), "nobody asked")


def test_an_unknown_write_is_not_done_before_it_was_called() -> None:
    rows, late = (*ROWS, Row(8, "c", "x")), Call(Kind.CREATE, "c", 9, "x")
    read = Call(Kind.GET, "c", 7, returned=8, outcome=Outcome.DONE, revision=8, seen="x")
    only(problems(late, read, rows=rows), "out of time")


def test_a_list_that_is_no_snapshot_is_named() -> None:
    only(problems(replace(FINE[5], items={"a": 5, "b": 3})), "list at 4")


def test_rows_out_of_order_are_named() -> None:
    rows = (ROWS[1], ROWS[0], *ROWS[2:])
    assert "log: revision 2 follows 3" in problems(rows=rows)


def test_what_was_there_before_is_no_ones_write() -> None:
    calls = [Call(Kind.UPDATE, "a", 3, "v2", expect=2, returned=4, outcome=Outcome.DONE, revision=5)]
    assert problems_of(History([*calls, get(3.5, 3.6, 2, "v1")]), ROWS[2:3], ROWS[:2]) == []


def watched(*events: Seen, after: int = 0, upto: int = 7) -> list[str]:
    return problems_of(History(list(CALLS), [Watched("w", after, upto, list(events))]), ROWS)


def test_a_complete_watch_is_accepted() -> None:
    assert watched(*EVENTS) == []
    assert watched(*EVENTS[2:], after=4) == []
    assert watched(*EVENTS[:2], upto=4) == []


@pytest.mark.parametrize(
    "events",
    [
        EVENTS[1:],
        EVENTS[:4],
        (*EVENTS[:2], *EVENTS[3:]),
        (*EVENTS[:2], EVENTS[1], *EVENTS[2:]),
        (EVENTS[1], EVENTS[0], *EVENTS[2:]),
        (*EVENTS[:2], replace(EVENTS[2], type="ADDED"), *EVENTS[3:]),
        (*EVENTS[:3], replace(EVENTS[3], value="v1"), EVENTS[4]),
    ],
    ids=["first missing", "last missing", "gap", "twice", "order", "type", "deleted value"],
)
def test_a_broken_watch_is_named(events: tuple[Seen, ...]) -> None:
    only(watched(*events), "w in (0, 7]")
