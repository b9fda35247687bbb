"""Every promise under random schedules, crashes and faults; a failure prints the line that replays it."""

import pytest

from tests.simulation.coverage import Coverage
from tests.simulation.faults import Fault
from tests.simulation.run import Plan, simulate

SEEDS, SEEDS_A_TEST = 300, 25


@pytest.mark.parametrize("first", range(0, SEEDS, SEEDS_A_TEST))
def test_promises_hold_whatever_happens(first: int) -> None:
    reports = [simulate(seed) for seed in range(first, first + SEEDS_A_TEST)]
    broken = [str(report) for report in reports if report.violations]
    assert not broken, "\n".join(broken)


def test_runs_meet_every_kind_of_fault_and_every_bound() -> None:
    coverage = Coverage()
    for seed in range(100):
        coverage.add(simulate(seed))
        if not coverage.never():
            return
    pytest.fail(f"never met: {coverage.never()}")


def test_a_lost_reply_to_commit_is_found_out() -> None:
    plan = Plan(faults=frozenset({Fault.LOST_REPLY, Fault.LOST_COMMIT, Fault.LATE_COMMIT}))
    met = unknown = 0
    for seed in range(25):
        report = simulate(seed, plan)
        assert not report.violations, str(report)
        unknown += report.unknown_writes
        met += sum(report.faults.values())
    # A batch whose rows were all compacted away before the node could look again: that cannot be told.
    assert met > 100 and unknown <= 2
