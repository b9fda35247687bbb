"""Every recorded answer of a real kube-apiserver is given, on both databases.

`not_yet_passing.txt` lists the scenarios that are still to come. It may only shrink: a listed scenario that passes
fails its test here.
"""

from collections.abc import Callable

import pytest

from tests.http.replaying import NAMES, NOT_YET_PASSING, REPLAY_TIMEOUT_S, Replay, names_on, replay
from tests.processes import ServerProcess

CASES = [(name, database) for database in ("sqlite-file", "postgres") for name in names_on(database)]
ReplayOn = Callable[[str], Replay]

# The first test of a database waits for the whole replay.
pytestmark = pytest.mark.timeout(REPLAY_TIMEOUT_S + 60)


@pytest.fixture(scope="module")
def replay_on(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ReplayOn:
    """Replays against a server on the named kind of database, once, in the safe default without controllers."""
    done: dict[str, Replay] = {}

    def run(database: str) -> Replay:
        if database not in done:
            url = request.getfixturevalue("create_postgres")(True) if database == "postgres" else None
            data = tmp_path_factory.mktemp("replay") / "data"
            with ServerProcess(data, database=url, options=("--controllers", "none")) as server:
                done[database] = replay(server.url, server.token, only=names_on(database))
        return done[database]

    return run


@pytest.mark.parametrize(("name", "database"), CASES)
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
