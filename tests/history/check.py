"""Judges a history against the log, which has decided the order: in linear time, without a search.

A call is placed at a position: how many rows of the log were there when it took effect. A write has the position
of its row; a read or a refusal has those at which it is true. A call that began after another had returned must
not be placed before it. Taking the first possible position for each, in the order in which they began, finds a
placement if there is one: all that a placement does to later calls is to bound them from below.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count

from tests.history.records import REFUSALS, Call, History, Kind, Outcome, Row, Seen

WRITES = frozenset({Kind.CREATE, Kind.UPDATE, Kind.DELETE})


@dataclass(slots=True)
class _Key:
    """The versions of one key. `positions[i]` is the first position at which version i is there."""

    positions: list[int] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    def at(self, position: int) -> Row | None:
        """The newest row at a position."""
        index = bisect_right(self.positions, position) - 1
        return self.rows[index] if index >= 0 else None

    def spans_from(self, position: int) -> Iterator[tuple[int, Row | None]]:
        """The first positions of the states from one position on, with the state's row."""
        yield position, self.at(position)
        for index in range(bisect_right(self.positions, position), len(self.positions)):
            yield self.positions[index], self.rows[index]


class Log:
    """The rows in order, and where each key's versions stand among them."""

    def __init__(self, rows: Sequence[Row], before: Sequence[Row] = ()) -> None:
        self.rows = list(rows)
        self.revisions = [row.revision for row in rows]
        self.keys: dict[str, _Key] = defaultdict(_Key)
        self.position = {row.revision: number for number, row in enumerate(rows, 1)}
        self.writer: dict[str, Row] = {}
        """value -> its row"""
        self.follower: dict[int, Row] = {}
        """revision -> the next row of the same key"""
        self.previous: dict[int, Row | None] = {}
        """revision -> the row of the same key before"""
        for number, row in enumerate([*before, *rows], 1 - len(before)):
            self._add(number, row)

    def _add(self, number: int, row: Row) -> None:
        key = self.keys[row.key]
        last = key.rows[-1] if key.rows else None
        self.previous[row.revision] = last
        if last is not None:
            self.follower[last.revision] = row
        key.rows.append(row)
        key.positions.append(max(number, 0))
        if row.value is not None:
            self.writer[row.value] = row

    def state(self, position: int) -> dict[str, int]:
        """key -> revision of everything that is there at a position."""
        newest = ((name, key.at(position)) for name, key in self.keys.items())
        return {name: row.revision for name, row in newest if row is not None and row.value is not None}


def problems_of_log(log: Log) -> Iterator[str]:
    """Revisions rise, and every value is there once."""
    for earlier, later in zip(log.revisions, log.revisions[1:], strict=False):
        if later <= earlier:
            yield f"log: revision {later} follows {earlier}"
    values = Counter(row.value for row in log.rows if row.value is not None)
    yield from (
        f"log: value {value!r} was written {times} times" for value, times in values.items() if times > 1
    )


def row_of(log: Log, call: Call) -> Row | None:
    """The row that a write made; None when there is none."""
    if call.kind is not Kind.DELETE:
        return log.writer.get(call.value)
    row = log.follower.get(call.expect)
    return row if row is not None and row.value is None else None


def problems_of_writes(log: Log, calls: Sequence[Call]) -> Iterator[str]:
    """Each acknowledged write is in the log under its own revision, no refused one is, every row has one writer."""
    writers: dict[int, list[Call]] = defaultdict(list)
    for call in calls:
        if call.kind not in WRITES:
            continue
        row = row_of(log, call)
        if (problem := _problem_of_outcome(call, row)) is not None:
            yield problem
        elif row is not None and call.outcome in (Outcome.DONE, Outcome.UNKNOWN):
            writers[row.revision].append(call)
            yield from _problems_of_compare(log, call, row)
    for row in log.rows:
        sure = [call for call in writers[row.revision] if call.outcome is Outcome.DONE]
        if len(sure) > 1:
            yield f"two calls made one row: {'; '.join(map(str, sure))}"
        elif not writers[row.revision]:
            yield f"nobody asked for {row}"


def _problem_of_outcome(call: Call, row: Row | None) -> str | None:
    """What was done is in the log as it was told, what was refused is not."""
    if call.outcome is Outcome.DONE:
        told = row is not None and row.key == call.key and call.revision in (0, row.revision)
        return None if told else f"lost: {call}; the log has {row}"
    if call.outcome is Outcome.UNKNOWN or call.kind is Kind.DELETE or row is None:
        return None
    return f"refused, yet done: {call}; the log has {row}"


def _problems_of_compare(log: Log, call: Call, row: Row) -> Iterator[str]:
    """A write was done only where its expectation held."""
    before = log.previous[row.revision]
    found = 0 if before is None or before.value is None else before.revision
    if found != call.expect:
        yield f"done against its expectation: {call}; the key was at {found}"


def position_of(log: Log, call: Call, least: int) -> int | None:
    """The first position from `least` on at which a call is true; None when there is none."""
    if call.kind in WRITES and call.outcome not in REFUSALS:
        row = row_of(log, call)
        assert row is not None
        position = log.position[row.revision]
        return position if position > least else None
    if call.kind is Kind.LIST:
        position = bisect_right(log.revisions, call.revision)
        return position if position >= least else None
    for position, row in log.keys[call.key].spans_from(least):
        if _is_true(call, row):
            return position
    return None


def _is_true(call: Call, row: Row | None) -> bool:
    """Whether the state of its key explains what a reader or a refused writer was told."""
    found = 0 if row is None or row.value is None else row.revision
    if call.outcome is Outcome.EXISTS:
        return found != 0
    if call.outcome is Outcome.ABSENT:
        return found == 0
    if call.outcome is Outcome.CONFLICT:
        return found not in (0, call.expect)
    return row is not None and found == call.revision and row.value == call.seen


def problems_of_order(log: Log, calls: Sequence[Call]) -> Iterator[str]:
    """There is one order of everything that agrees with time: what is read is never older than what was known."""
    deleters = _deleters(log, calls)
    placed = sorted(
        (call for call in calls if _takes_effect(log, call, deleters)), key=lambda call: call.called
    )
    pending: list[tuple[float, int, int, Call]] = []
    least, known, order = 0, None, count()
    for call in placed:
        while pending and pending[0][0] < call.called:
            _, _, position, ended = heappop(pending)
            if position > least:
                least, known = position, ended
        found = position_of(log, call, least)
        if found is None:
            yield f"out of time: {call}, which began after [{known}] had returned"
        else:
            heappush(pending, (call.returned, next(order), found, call))


def _deleters(log: Log, calls: Sequence[Call]) -> dict[int, Call]:
    """revision of a delete's row -> the call that made it: of those who may have, the one who knows, or the first."""
    found: dict[int, Call] = {}
    for call in calls:
        if call.kind is Kind.DELETE and call.outcome in (Outcome.DONE, Outcome.UNKNOWN):
            row = row_of(log, call)
            if row is not None and (row.revision not in found or call.outcome is Outcome.DONE):
                found[row.revision] = call
    return found


def _takes_effect(log: Log, call: Call, deleters: dict[int, Call]) -> bool:
    """Whether a call has a place in the order."""
    if call.outcome is Outcome.UNDONE:
        return False
    if call.kind in WRITES and call.outcome not in REFUSALS:
        row = row_of(log, call)
        return row is not None and (call.kind is not Kind.DELETE or deleters[row.revision] is call)
    return call.outcome is not Outcome.UNKNOWN


def problems_of_lists(log: Log, calls: Sequence[Call]) -> Iterator[str]:
    """A list is exactly the state at its revision."""
    for call in calls:
        if call.kind is Kind.LIST and call.outcome is Outcome.DONE:
            state = log.state(bisect_right(log.revisions, call.revision))
            if state != call.items:
                yield f"list at {call.revision} is {call.items}, the log gives {state}"


def events_of(log: Log, *, after: int, upto: int) -> list[Seen]:
    """What a watcher of everything must be told of (after, upto]."""
    rows = log.rows[bisect_right(log.revisions, after) : bisect_right(log.revisions, upto)]
    return [_event_of(row, log.previous[row.revision]) for row in rows]


def _event_of(row: Row, before: Row | None) -> Seen:
    if row.value is None:
        return Seen(row.revision, "DELETED", row.key, "" if before is None else before.value or "")
    there = before is not None and before.value is not None
    return Seen(row.revision, "MODIFIED" if there else "ADDED", row.key, row.value)


def problems_of_watchers(log: Log, history: History) -> Iterator[str]:
    """Every watcher was told exactly the log: all of it, once, in order."""
    for watched in history.watchers:
        wanted = events_of(log, after=watched.after, upto=watched.upto)
        if watched.events != wanted:
            pairs = zip(watched.events, wanted, strict=False)
            at = next((number for number, (got, want) in enumerate(pairs) if got != want), None)
            at = min(len(watched.events), len(wanted)) if at is None else at
            yield (
                f"{watched.name} in ({watched.after}, {watched.upto}] after {watched.resumes} resumptions: "
                f"{len(watched.events)} events of {len(wanted)}, at {at} it was told "
                f"{watched.events[at : at + 1]}, the log has {wanted[at : at + 1]}"
            )


def problems_of(history: History, rows: Sequence[Row], before: Sequence[Row] = ()) -> list[str]:
    """All that is wrong with a history. `before` is what was there when it began."""
    log = Log(rows, before)
    return [
        *problems_of_log(log),
        *problems_of_writes(log, history.calls),
        *problems_of_lists(log, history.calls),
        *problems_of_order(log, history.calls),
        *problems_of_watchers(log, history),
    ]
