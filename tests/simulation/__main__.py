"""Replay a seed, run many, or run until told to stop.

python -m tests.simulation --seed 8142 --trace     replay one run and tell everything that happens
python -m tests.simulation --seed 0 --seeds 5000   run many
python -m tests.simulation --coverage              tell how often each fault strikes in 300 runs
python -m tests.simulation --soak                  run until interrupted, beginning at a seed of the moment
python -m tests.simulation --broken NAME           show how a part that is broken on purpose is noticed
"""

import argparse
import sys
import time
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import replace
from itertools import count

from tests.simulation import broken_epochs, broken_reads, broken_upkeep, broken_writes  # noqa: F401  # registered
from tests.simulation.broken import BROKEN
from tests.simulation.coverage import coverage_of
from tests.simulation.run import Plan, simulate

TELL_EVERY_S = 10.0
COVERAGE_SEEDS = 300


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seed", type=int, help="the first seed")
    parser.add_argument("--seeds", type=int, help="how many seeds")
    parser.add_argument("--trace", action="store_true", help="tell everything that happens")
    parser.add_argument("--hashes", action="store_true", help="print the hash of every run")
    parser.add_argument("--coverage", action="store_true", help="tell how often each fault strikes")
    parser.add_argument("--soak", action="store_true", help="run until interrupted")
    parser.add_argument("--length", type=int, help="how many times as much as usual clients do")
    parser.add_argument("--broken", choices=[part.name for part in BROKEN], help="with this part broken")
    return parser.parse_args()


def run(seeds: Iterable[int], options: argparse.Namespace) -> int:
    """Run seeds; returns how many broke a promise."""
    part = next((each for each in BROKEN if each.name == options.broken), None)
    plan = Plan() if part is None else part.plan
    if options.length is not None:
        plan = replace(plan, length=options.length)
    failed, told, begun = 0, time.monotonic(), time.monotonic()
    with nullcontext() if part is None else part.applied():
        for done, seed in enumerate(seeds, 1):
            report = simulate(seed, plan, trace=options.trace)
            if options.hashes:
                print(seed, report.trace_hash)
            if report.violations:
                failed += 1
                print(report, flush=True)
            if time.monotonic() - told > TELL_EVERY_S:
                told = time.monotonic()
                print(f"{done} seeds, {failed} failed, {done / (told - begun):.0f} a second", file=sys.stderr)
    return failed


def main() -> int:
    """0 when every promise held."""
    options = arguments()
    if options.coverage:
        seeds = range(options.seed or 0, (options.seed or 0) + (options.seeds or COVERAGE_SEEDS))
        plan = Plan(length=options.length or 1)
        print("\n".join(coverage_of(simulate(seed, plan) for seed in seeds).table()))
        return 0
    first = options.seed if options.seed is not None else time.time_ns() % 10**12
    chosen: Iterable[int] = count(first) if options.soak else range(first, first + (options.seeds or 1))
    try:
        return 1 if run(chosen, options) else 0
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
