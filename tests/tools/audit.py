"""Compares what is installed with the known advisories, and says plainly when nothing could be compared.

`python tests/tools/audit.py`: 1 for what has an advisory, else 0. A service that cannot be reached is one line, and no
failure unless `--strict` is given: whether a machine reaches it says nothing about the code.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

AUDIT = (
    sys.executable,
    "-m",
    "pip_audit",
    "--format",
    "json",
    "--progress-spinner",
    "off",
    "--timeout",
    "10",
)
PROBE = "pip"
"""What every service knows: asked for first, and alone where there is no service."""
PATIENCE_S = 300
SHOWN = 300


@dataclass(frozen=True)
class Verdict:
    """What an audit came to. `problem` tells why nothing was compared."""

    audited: int
    unknown: Sequence[str] = ()
    found: Sequence[str] = ()
    problem: str = ""


def verdict_of(report: str, errors: str) -> Verdict:
    """What pip-audit's output says. It ends alike for an advisory and for a network that is away."""
    try:
        packages: Sequence[Mapping[str, Any]] = json.loads(report)["dependencies"]
    except (ValueError, KeyError):
        lines = errors.strip().splitlines() or ["pip-audit said nothing"]
        return Verdict(0, problem=lines[-1][:SHOWN])
    unknown = [package["name"] for package in packages if "skip_reason" in package]
    known = [package for package in packages if "skip_reason" not in package]
    if not known:
        return Verdict(0, unknown, problem="the service knows none of the packages")
    found = [
        f"{package['name']} {package['version']}: {advisory['id']}, "
        f"fixed in {', '.join(advisory['fix_versions']) or 'no version yet'}"
        for package in known
        for advisory in package["vulns"]
    ]
    return Verdict(len(known), unknown, found)


def audit(*arguments: str, stdin: str = "") -> Verdict:
    """Run pip-audit."""
    try:
        done = subprocess.run(
            [*AUDIT, *arguments], input=stdin, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    except subprocess.TimeoutExpired:
        return Verdict(0, problem=f"no answer in {PATIENCE_S} s")
    return verdict_of(done.stdout, done.stderr)


def lines_of(verdict: Verdict) -> list[str]:
    """What is printed."""
    if verdict.problem:
        return [f"audit: NOTHING WAS COMPARED, the advisory service cannot be used here: {verdict.problem}"]
    aside = f", {len(verdict.unknown)} the service does not know: {', '.join(verdict.unknown)}"
    summary = f"audit: {verdict.audited} packages compared{aside if verdict.unknown else ''}"
    return [summary, *(f"audit: VULNERABLE: {line}" for line in verdict.found)]


def main(arguments: Sequence[str]) -> int:
    """The exit code."""
    from importlib.metadata import version

    verdict = audit(
        "--requirement", "/dev/stdin", "--no-deps", "--disable-pip", stdin=f"{PROBE}=={version(PROBE)}\n"
    )
    if not verdict.problem:
        verdict = audit("--skip-editable")
    print("\n".join(lines_of(verdict)))
    return int(bool(verdict.found) or (bool(verdict.problem) and "--strict" in arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
