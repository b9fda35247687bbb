"""The rows that a benchmark prints, and how they are printed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

HEAD = ("what", "per second", "p50 ms", "p99 ms", "raw engine", "of raw", "target", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measured operation. `raw` is what the bare engine did per second in the same run, in the same unit."""

    name: str
    per_second: float
    p50_ms: float | None = None
    p99_ms: float | None = None
    raw: float | None = None
    target: float | None = None
    note: str = ""

    @property
    def missed(self) -> bool:
        """Whether there is a target and it was not reached."""
        return self.target is not None and self.per_second < self.target

    def cells(self) -> tuple[str, ...]:
        """What is printed."""
        ratio = "" if not self.raw else f"{self.per_second / self.raw:.2f}"
        note = " ".join(filter(None, [self.note, "MISSED" if self.missed else ""]))
        return (
            self.name,
            number(self.per_second),
            number(self.p50_ms),
            number(self.p99_ms),
            number(self.raw),
            ratio,
            number(self.target),
            note,
        )


def number(value: float | None) -> str:
    """A figure with as many digits as mean something."""
    if value is None:
        return ""
    return f"{value:,.0f}".replace(",", " ") if value >= 100 else f"{value:.2f}"


def percentile(values: Sequence[float], fraction: float) -> float:
    """The value that this fraction of the sorted values is at or below."""
    return values[int(fraction * (len(values) - 1))]


def measured(name: str, seconds: Sequence[float], *, wall_s: float, target: float | None = None) -> Row:
    """A row of the latencies of single operations that took `wall_s` in all."""
    ordered = sorted(seconds)
    return Row(
        name=name,
        per_second=len(ordered) / wall_s,
        p50_ms=percentile(ordered, 0.5) * 1000,
        p99_ms=percentile(ordered, 0.99) * 1000,
        target=target,
    )


def markdown(rows: Iterable[Row]) -> str:
    """The rows as a table that reads well as text too."""
    lines = [HEAD, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]

    def text(line: Sequence[str]) -> str:
        cells = [
            cell.ljust(width) if column in (0, len(HEAD) - 1) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        return f"| {' | '.join(cells)} |"

    rule = "|" + "|".join(
        "-" * (width + 1) + ("-" if i in (0, len(HEAD) - 1) else ":") for i, width in enumerate(widths)
    )
    return "\n".join([text(lines[0]), rule + "|", *map(text, lines[1:])])
