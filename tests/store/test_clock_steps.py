"""Seeing that the database's clock was set: what was written before is not old, and does not end, too soon."""

import pytest

from kinepy.drivers.base import LeaseRow
from kinepy.log.clock_steps import STEPS_MAX, ClockSteps

SECOND = 1_000_000
START = 1_800_000_000 * SECOND
HOUR = 3600 * SECOND


class Clocks:
    """A monotonic clock, and the database's, which the test sets."""

    def __init__(self) -> None:
        self.elapsed_s = 100.0
        self.wrong_us = 0
        self.steps = ClockSteps(self)

    def now_us(self) -> int:
        return START + int(self.elapsed_s * SECOND) + self.wrong_us

    def monotonic(self) -> float:
        return self.elapsed_s

    async def sleep(self, seconds: float) -> None:
        self.elapsed_s += seconds

    def look(self, *, took_s: float = 0.0) -> int:
        """The clock is looked at; the answer takes so long to come."""
        since, now_us = self.elapsed_s, self.now_us()
        self.elapsed_s += took_s
        self.steps.observe(now_us, since=since)
        return now_us

    def ends(self, lease: LeaseRow) -> int:
        return self.steps.end_of(lease, self.now_us())

    def grant(self, ttl_s: int) -> LeaseRow:
        return LeaseRow(1, ttl_s, self.look() + ttl_s * SECOND)


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


def test_a_lease_of_before_a_step_lasts_as_long_as_it_should(clocks: Clocks) -> None:
    lease = clocks.grant(10)
    clocks.wrong_us += HOUR
    clocks.look()
    clocks.elapsed_s += 9
    assert clocks.ends(lease) == clocks.now_us() + SECOND


def test_a_lease_of_after_a_step_ends_when_it_says(clocks: Clocks) -> None:
    clocks.look()
    clocks.wrong_us += HOUR
    clocks.look()
    lease = clocks.grant(10)
    assert clocks.ends(lease) == lease.expires_at


def test_several_steps_add_up_for_what_is_older_than_all_of_them(clocks: Clocks) -> None:
    old = clocks.grant(10)
    for _ in range(STEPS_MAX + 5):
        clocks.elapsed_s += 1
        clocks.wrong_us += HOUR
        clocks.look()
    younger = clocks.grant(10)
    assert len(clocks.steps) == STEPS_MAX
    assert clocks.ends(old) == old.expires_at + (STEPS_MAX + 5) * HOUR
    assert clocks.ends(younger) == younger.expires_at


def test_time_that_passes_is_no_step(clocks: Clocks) -> None:
    clocks.look()
    for pause_s, took_s in ((0.1, 0.0), (86400.0, 0.0), (5.0, 0.9), (0.0, 30.0), (3.0, 0.0)):
        clocks.elapsed_s += pause_s
        clocks.look(took_s=took_s)
    assert not clocks.steps


def test_a_lease_outlives_a_clock_that_is_set_back_and_right_again_but_not_by_much(clocks: Clocks) -> None:
    before = clocks.grant(10)
    clocks.wrong_us -= HOUR
    clocks.look()
    between = clocks.grant(10)
    clocks.elapsed_s += 1
    clocks.wrong_us += HOUR
    clocks.look()
    after = clocks.grant(10)
    assert clocks.ends(before) == before.expires_at
    assert clocks.ends(between) == between.expires_at + HOUR
    assert clocks.ends(after) == after.expires_at


def test_a_lease_of_a_clock_that_did_not_jump_does_not_end_early(clocks: Clocks) -> None:
    clocks.look()
    clocks.wrong_us += HOUR
    clocks.look()
    for _ in range(3):
        clocks.elapsed_s += 3600
        others_now_us = clocks.look() - HOUR
        theirs = LeaseRow(1, 10, others_now_us + 10 * SECOND)
        assert clocks.ends(theirs) == theirs.expires_at + HOUR


def test_a_slow_answer_never_makes_a_step_look_smaller_than_it_was(clocks: Clocks) -> None:
    lease = clocks.grant(10)
    clocks.wrong_us += HOUR
    clocks.look(took_s=5.0)
    assert clocks.ends(lease) >= lease.expires_at + HOUR


def test_what_was_written_before_a_step_is_not_older_for_it(clocks: Clocks) -> None:
    written = clocks.look()
    clocks.elapsed_s += 10
    clocks.wrong_us += HOUR
    now_us = clocks.look()
    assert clocks.steps.before(now_us, age_s=11) < written <= clocks.steps.before(now_us, age_s=10)
    clocks.elapsed_s += 60
    now_us = clocks.look()
    assert clocks.steps.before(now_us, age_s=30) == now_us - 30 * SECOND
