"""The simulation itself: it can be replayed, and it notices every part that is broken on purpose."""

import os
import subprocess
import sys

import pytest

from tests.simulation import broken_epochs, broken_reads, broken_upkeep, broken_writes  # noqa: F401  # registered
from tests.simulation.broken import BROKEN, Broken
from tests.simulation.run import Plan, simulate

SEEDS_MAX = 100
"""Within how many seeds a broken part must be noticed."""


def test_same_seed_gives_the_same_run() -> None:
    first, second = simulate(7), simulate(7)
    assert (first.trace_hash, first.steps) == (second.trace_hash, second.steps)


def test_different_seeds_give_different_runs() -> None:
    assert len({simulate(seed).trace_hash for seed in range(10)}) == 10


def test_a_seed_gives_the_same_run_in_another_process() -> None:
    hashes = set()
    for hash_seed in ("1", "2"):
        command = [sys.executable, "-m", "tests.simulation", "--seed", "11", "--seeds", "5", "--hashes"]
        found = subprocess.run(
            command,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        hashes.add(found.stdout)
    assert len(hashes) == 1, hashes


def test_enough_parts_are_broken() -> None:
    assert len(BROKEN) >= 15


@pytest.mark.timeout(240)
@pytest.mark.parametrize("part", BROKEN, ids=lambda part: part.name)
def test_broken_part_is_noticed(part: Broken) -> None:
    assert part.first_seed_that_notices(SEEDS_MAX) is not None


def test_a_failure_says_how_to_replay_it() -> None:
    part = next(each for each in BROKEN if each.name == "expected_revision_not_compared")
    seed = part.first_seed_that_notices(SEEDS_MAX)
    assert seed is not None
    with part.applied():
        report = simulate(seed, Plan(settings=dict(part.settings)))
    assert f"python -m tests.simulation --seed {seed} --trace" in str(report)
