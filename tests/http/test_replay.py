"""Every recorded answer of a real kube-apiserver is given, on both databases.

`not_yet_passing.txt` lists the scenarios that are still to come. It may only shrink: a listed scenario that passes
fails its test here.
"""

from pathlib import Path

import pytest

from tests.http.conftest import REPLAY_TIMEOUT_S, SCENARIOS, ReplayOn

NAMES = sorted(path.stem for path in SCENARIOS.glob("*.yaml"))
NOT_YET_PASSING = frozenset((Path(__file__).parent / "not_yet_passing.txt").read_text().split())

# The first test of a database waits for the whole replay.
pytestmark = pytest.mark.timeout(REPLAY_TIMEOUT_S + 60)


@pytest.mark.parametrize("database", ["sqlite-file", "postgres"])
@pytest.mark.parametrize("name", NAMES)
def test_scenario(name: str, database: str, replay_on: ReplayOn) -> None:
    replayed = replay_on(database)
    assert name in replayed.problems, f"the replay ended before {name}:\n{replayed.output}"
    problem = replayed.problems[name]
    if name not in NOT_YET_PASSING:
        assert not problem, f"{name} differs from the recording:{problem}"
    else:
        assert problem, f"{name} passes now: take it off not_yet_passing.txt"


def test_only_scenarios_are_listed() -> None:
    assert set(NAMES) >= NOT_YET_PASSING
