"""What the HTTP tests share: the recordings, replayed once for each database."""

import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from kinepy import open_store
from kinepy_server.context import Context
from kinepy_server.resources.builtins import builtin_registry
from kinepy_server.server_settings import ServerSettings
from tests.processes import ServerProcess

TESTS = Path(__file__).resolve().parent.parent
SCENARIOS = TESTS / "golden" / "scenarios"
JOBS = 8
REPLAY_TIMEOUT_S = 400
VERDICT = re.compile(r"^(PASS|FAIL) (\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Replay:
    """The verdicts of one run: the differences by scenario, empty for those that pass."""

    problems: Mapping[str, str]
    output: str


def replay(url: str, token: str | None) -> Replay:
    """Run every scenario against a server."""
    command = [
        sys.executable,
        str(TESTS / "replay" / "replay.py"),
        "check",
        "--url",
        url,
        "--token",
        token or "",
    ]
    command += ["--golden", str(TESTS / "golden" / "answers"), str(SCENARIOS), "--jobs", str(JOBS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=REPLAY_TIMEOUT_S, check=False)
    found = VERDICT.split(done.stdout)
    verdicts = zip(found[1::3], found[2::3], found[3::3], strict=True)
    problems = {name: "" if verdict == "PASS" else text for verdict, name, text in verdicts}
    return Replay(problems, done.stdout[-4000:] + done.stderr[-4000:])


ReplayOn = Callable[[str], Replay]


@pytest.fixture(scope="session")
def replay_on(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ReplayOn:
    """Replays against a server on the named kind of database, once, in the safe default without controllers."""
    done: dict[str, Replay] = {}

    def run(database: str) -> Replay:
        if database not in done:
            url = request.getfixturevalue("create_postgres")(True) if database == "postgres" else None
            data = tmp_path_factory.mktemp("replay") / "data"
            with ServerProcess(data, database=url, options=("--controllers", "none")) as server:
                done[database] = replay(server.url, server.token)
        return done[database]

    return run


@pytest.fixture
async def context(database_url: str) -> AsyncIterator[Context]:
    """What handlers share, over a fresh store of each kind."""
    async with open_store(database_url) as store:
        yield Context(store, builtin_registry())


@pytest.fixture
async def impatient() -> AsyncIterator[Context]:
    """A context whose reads do not wait long for the future."""
    async with open_store("sqlite:///:memory:") as store:
        yield Context(store, builtin_registry(), ServerSettings(future_revision_wait_s=0.05))


@pytest.fixture
async def hasty() -> AsyncIterator[Context]:
    """A context whose watches get bookmarks all the time."""
    async with open_store("sqlite:///:memory:") as store:
        yield Context(store, builtin_registry(), ServerSettings(bookmark_interval_s=0.02))
