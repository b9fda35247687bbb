"""How often each kind of fault really strikes, and each bound is met: what a number of seeds is worth."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from tests.simulation.faults import Fault
from tests.simulation.run import Report

MET: Final = {
    "Overloaded": "a write or a watch was refused, since a queue was full",
    "WatchOverflow": "a watch was ended, since its queue was full or its node lagged",
    "Compacted": "what was asked for, or was to come, had been compacted",
    "RevisionInFuture": "what was asked for had not happened yet, or was lost",
    "WriteOutcomeUnknown": "a living node could not tell whether it had written",
    "StorageUnavailable": "the database was away, or held by somebody else",
}
"""What clients are to meet now and then."""


@dataclass
class Coverage:
    """Counts over many runs."""

    runs: int = 0
    drawn: Counter[Fault] = field(default_factory=Counter)
    struck: Counter[Fault] = field(default_factory=Counter)
    strikes: Counter[Fault] = field(default_factory=Counter)
    met: Counter[str] = field(default_factory=Counter)

    def add(self, report: Report) -> None:
        """Count one run."""
        self.runs += 1
        self.drawn.update(report.kinds)
        self.struck.update(report.faults.keys())
        self.strikes.update(report.faults)
        self.met.update(report.met)

    def never(self) -> set[str]:
        """What was to be met and never was."""
        faults = {fault.name for fault in Fault if not self.strikes[fault]}
        return faults | {name for name in MET if not self.met[name]}

    def table(self) -> Iterator[str]:
        """To be read, as Markdown."""
        yield f"| fault, in {self.runs} runs | may strike in | strikes in | times |"
        yield "|---|---|---|---|"
        for fault in Fault:
            yield f"| {fault.value} | {self.drawn[fault]} | {self.struck[fault]} | {self.strikes[fault]} |"
        yield ""
        yield "| what clients met | times |"
        yield "|---|---|"
        for name, meaning in MET.items():
            yield f"| `{name}`: {meaning} | {self.met[name]} |"


def coverage_of(reports: Iterable[Report]) -> Coverage:
    """Count runs."""
    coverage = Coverage()
    for report in reports:
        coverage.add(report)
    return coverage
