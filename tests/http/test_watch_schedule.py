"""When bookmarks come: regularly, once shortly before the end, and never when they were not asked for."""

from kinepy_server.read.bookmarks import Schedule


def instants(schedule: Schedule) -> list[float]:
    """When bookmarks would be sent, with a clock that moves to whatever is due."""
    now, found = 0.0, []
    schedule.start(now)
    while not schedule.ended(now):
        if schedule.take_bookmark(now):
            found.append(now)
        now += schedule.wait_s(now)
    return found


def test_bookmarks_come_regularly_and_before_the_end() -> None:
    assert instants(Schedule(120.0, 50.0)) == [50.0, 100.0, 118.0]


def test_a_short_watch_has_one_bookmark_before_its_end() -> None:
    assert instants(Schedule(3.0, 50.0)) == [1.0]


def test_a_watch_shorter_than_that_has_none() -> None:
    assert instants(Schedule(1.0, 50.0)) == []


def test_bookmarks_are_not_sent_unasked() -> None:
    assert instants(Schedule(120.0, None)) == []


def test_a_watch_whose_time_is_over_ends_at_once() -> None:
    assert Schedule(-5.0, None).ended(0.0)
