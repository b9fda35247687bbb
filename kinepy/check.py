"""Look whether a database keeps the promises of the store.

Reads one snapshot of the whole log in pages, in revision order, and folds it: memory grows with the number of live
keys only. Stores may be open and writing meanwhile.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from kinepy.drivers.base import Driver, EpochRow, Head, HistoryRow, LogRow, ReadTransaction
from kinepy.errors import StorageCorrupt
from kinepy.keys import KeyRange
from kinepy.revision import FIRST_REVISION, Revision

PAGE_ROWS: Final = 1000
PROBLEMS_KEPT_MAX: Final = 100

_NEVER: Final = Revision(0)

Progress = Callable[[Revision, Revision], None]
"""Is told, now and then, up to which revision all is checked, and up to which it will be."""


@dataclass(slots=True)
class CheckReport:
    """What was found. `problems` break a promise, `warnings` do not; both end at a bound, the counts do not."""

    current_revision: Revision = FIRST_REVISION
    compact_revision: Revision = _NEVER
    log_rows: int = 0
    keys: int = 0
    problems: list[str] = field(default_factory=list)
    problem_count: int = 0
    warnings: list[str] = field(default_factory=list)
    warning_count: int = 0

    @property
    def clean(self) -> bool:
        """Whether every promise is kept."""
        return self.problem_count == 0

    def problem(self, text: str) -> None:
        """Note a broken promise."""
        self.problem_count += 1
        if len(self.problems) < PROBLEMS_KEPT_MAX:
            self.problems.append(text)

    def warn(self, text: str) -> None:
        """Note something odd that breaks no promise."""
        self.warning_count += 1
        if len(self.warnings) < PROBLEMS_KEPT_MAX:
            self.warnings.append(text)


async def check(driver: Driver, *, progress: Progress | None = None) -> CheckReport:
    """Check everything in one snapshot. Damage is reported, not raised; only `StorageUnavailable` is."""
    report = CheckReport()
    try:
        async with driver.read() as tx:
            await check_snapshot(tx, report, progress=progress)
    except StorageCorrupt as error:
        report.problem(str(error))
    return report


async def check_snapshot(
    tx: ReadTransaction, report: CheckReport, *, progress: Progress | None = None
) -> None:
    """Check what a transaction sees, also of its own that is not committed yet. Raises `StorageCorrupt`."""
    current = report.current_revision = await tx.current()
    floors, epochs = dict(await tx.floors()), await tx.epochs()
    report.compact_revision = floors.get(b"", Revision(0))
    await tx.store_id()
    for text in epoch_problems(epochs):
        report.problem(text)
    for prefix, floor in floors.items():
        if floor > current:
            report.problem(f"floor {floor} of prefix {prefix!r} is beyond the current revision {current}")
    bases = [epoch.base_revision for epoch in epochs]
    if len(epochs) > 1:
        # What came before the last epoch cannot be asked for, whatever the prefix.
        floors = {prefix: max(floor, bases[-1]) for prefix, floor in floors.items()}
    fold = LogFold(report, floors=floors, bases=bases)
    after = Revision(0)
    while page := await tx.history(KeyRange.everything(), after=after, upto=current, limit=PAGE_ROWS):
        for row in page:
            fold.add(row)
        after = page[-1].row.revision
        if progress is not None:
            progress(after, current)
    fold.end(current)
    await _check_heads(tx, report, fold.heads)
    known = {lease.id for lease in await tx.leases()}
    for key, head in fold.heads.items():
        if head.lease is not None and head.lease not in known:
            report.warn(f"key {key!r} has lease {head.lease}, which does not exist")


async def _check_heads(tx: ReadTransaction, report: CheckReport, expected: dict[bytes, Head]) -> None:
    """Compare the head table with the fold of the log."""
    rest, seen = KeyRange.everything(), 0
    while page := await tx.heads(rest, limit=PAGE_ROWS):
        for head in page:
            seen += head.key in expected
            if expected.get(head.key) != head:
                report.problem(
                    f"head of key {head.key!r} is {head[1:]}: the log says {expected.get(head.key)}"
                )
        rest = rest.after(page[-1].key)
        report.keys += len(page)
    if seen < len(expected):
        report.problem(f"the head table lacks {len(expected) - seen} keys that live by the log")


def epoch_problems(epochs: Sequence[EpochRow]) -> Iterable[str]:
    """What is wrong with the epochs: they are numbered from 1 and their bases rise."""
    if not epochs:
        yield "there is no epoch"
    for number, epoch in enumerate(epochs, start=1):
        if epoch.number != number:
            yield f"epoch {epoch.number} stands where epoch {number} belongs"
        if number > 1 and epoch.base_revision <= epochs[number - 2].base_revision:
            yield f"epoch {epoch.number} begins at {epoch.base_revision}, not after the one before"


class LogFold:
    """Takes the rows of the log in order, judges each, and keeps the heads that they lead to."""

    def __init__(
        self, report: CheckReport, *, floors: dict[bytes, Revision], bases: Sequence[Revision]
    ) -> None:
        self._report, self._floors, self._bases = report, floors, frozenset(bases)
        # Compaction leaves holes below a floor, of whatever prefix.
        self._dense_after = max(floors.values(), default=Revision(0))
        self._last: LogRow | None = None
        self.heads: dict[bytes, Head] = {}

    def add(self, entry: HistoryRow) -> None:
        """Judge the next row."""
        row = entry.row
        self._report.log_rows += 1
        problems = (
            *self._order_problems(row),
            *self._chain_problems(row, entry.previous),
            *self._shape_problems(row),
        )
        for text in problems:
            self._report.problem(f"row {row.revision}.{row.sub} of key {row.key!r}: {text}")
        self._last = row
        if row.value is None:
            self.heads.pop(row.key, None)
        else:
            self.heads[row.key] = Head(
                row.key, row.revision, row.sub, row.create_revision, row.version, row.lease
            )

    def end(self, current: Revision) -> None:
        """Judge the end of the log."""
        newest = self._last.revision if self._last is not None else Revision(0)
        if current != newest and current not in self._bases:
            self._report.problem(f"the log ends at {newest}, but the current revision is {current}")

    def _order_problems(self, row: LogRow) -> Iterable[str]:
        last = self._last
        if last is not None and row.committed_at < last.committed_at:
            yield f"was committed {last.committed_at - row.committed_at} µs before the row that precedes it"
        if row.revision <= self._dense_after:
            return
        if last is not None and row.revision == last.revision:
            if row.sub != last.sub + 1:
                yield f"follows sub {last.sub} of the same revision"
            return
        if row.sub != 0:
            yield "is the first of its revision, but its sub is not 0"
        before = max(self._dense_after, Revision(0) if last is None else last.revision)
        if row.revision != before + 1 and row.revision - 1 not in self._bases:
            yield f"follows revision {before}: what was between is missing"

    def _chain_problems(self, row: LogRow, previous: LogRow | None) -> Iterable[str]:
        head = self.heads.get(row.key)
        if head is not None and row.prev_revision != head.revision:
            yield f"its prev_revision is {row.prev_revision}, but the key lives since {head.revision}"
        if row.prev_revision == 0:
            return
        if previous is None:
            if row.revision >= self._floor_of(row.key):
                yield f"its predecessor {row.prev_revision} is missing, though it can be asked for"
            return
        if previous.value is None:
            yield f"its predecessor {row.prev_revision} is a tombstone"
        expected = previous.version + (row.value is not None)
        if row.version != expected:
            yield f"its version is {row.version}, not {expected}"
        if row.create_revision != previous.create_revision:
            yield f"its create_revision is {row.create_revision}, not {previous.create_revision}"

    def _shape_problems(self, row: LogRow) -> Iterable[str]:
        if row.prev_revision != 0:
            if row.prev_revision >= row.revision:
                yield f"its prev_revision {row.prev_revision} is not before it"
        elif row.value is None:
            yield "is a tombstone of nothing"
        elif row.version != 1 or row.create_revision != row.revision:
            yield f"creates the key with version {row.version} and create_revision {row.create_revision}"

    def _floor_of(self, key: bytes) -> Revision:
        """The floor of the longest prefix that the key has."""
        prefixes = [prefix for prefix in self._floors if key.startswith(prefix)]
        return self._floors[max(prefixes, key=len)] if prefixes else Revision(0)
