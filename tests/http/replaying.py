"""Running the recorded scenarios against a server."""

import re
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
SCENARIOS = TESTS / "golden" / "scenarios"
NAMES = sorted(path.stem for path in SCENARIOS.glob("*.yaml"))
NOT_YET_PASSING = frozenset((TESTS / "http" / "not_yet_passing.txt").read_text().split())
JOBS = 16
REPLAY_TIMEOUT_S = 400
VERDICT = re.compile(r"^(PASS|FAIL) (\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Replay:
    """The verdicts of one run: the differences by scenario, empty for those that pass."""

    problems: Mapping[str, str]
    output: str


def replay(url: str, token: str | None, *, only: Collection[str]) -> Replay:
    """Run scenarios against a server."""
    command = [sys.executable, str(TESTS / "replay" / "replay.py"), "check", "--url", url]
    command += ["--token", token or "", "--golden", str(TESTS / "golden" / "answers"), str(SCENARIOS)]
    command += ["--jobs", str(JOBS), *(word for name in sorted(only) for word in ("--only", name))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=REPLAY_TIMEOUT_S, check=False)
    found = VERDICT.split(done.stdout)
    verdicts = zip(found[1::3], found[2::3], found[3::3], strict=True)
    problems = {name: "" if verdict == "PASS" else text for verdict, name, text in verdicts}
    return Replay(problems, done.stdout[-4000:] + done.stderr[-4000:])


def names_on(database: str) -> Sequence[str]:
    """The scenarios that are replayed on a kind of database: those still to come are looked at on one only."""
    return [name for name in NAMES if database == "sqlite-file" or name not in NOT_YET_PASSING]
