"""The verdict on requests: one function for each promise, each naming the revision that broke it.

The committed log decides what writes of unknown fate did. Revisions are the order of everything, so that
linearizability needs no search: an answer must fit the state at its revision, and that revision must lie
between what was known at the call and what was committed at the return.
"""

from collections.abc import Callable
from typing import Any, Final

from kinepy import CountResult, DeleteResult, KeyValue, RangeResult, Revision, TxnResult
from kinepy.drivers.base import LogRow
from kinepy.errors import (
    Compacted,
    KeyExists,
    KeyNotFound,
    KinepyError,
    LeaseExists,
    LeaseNotFound,
    Overloaded,
    RevisionConflict,
    RevisionInFuture,
    StorageUnavailable,
    StoreClosed,
    WriteOutcomeUnknown,
)
from tests.simulation.history import (
    WRITES,
    Call,
    Compact,
    Count,
    Delete,
    Get,
    History,
    List,
    Put,
    Transact,
    Unknown,
    range_of,
)
from tests.simulation.judge import Judge
from tests.simulation.reference import Reference, State, within
from tests.simulation.transactions import Evaluation

UNKNOWN: Final = (Unknown, WriteOutcomeUnknown)
NOT_NOW: Final = (StorageUnavailable, StoreClosed, Overloaded)


def judge_calls(reference: Reference, history: History) -> None:
    """Run every validator of requests."""
    judge = Judge(reference, history)
    for call in history.calls:
        if isinstance(call.request, WRITES):
            p4_durable(judge, call)
            p3_one_winner(judge, call)
            p9_errors(judge, call)
        for kind, validator in _ANSWERS:
            if isinstance(call.result, kind):
                validator(judge, call, call.result)
                break
        if isinstance(call.request, Get) and not isinstance(call.result, Exception):
            p5_get(judge, call, call.request)
        if isinstance(call.request, Compact) and isinstance(call.result, int):
            p7_acknowledged(judge, call, Revision(call.result))


# --- writes


def p4_durable(judge: Judge, call: Call) -> None:
    """An acknowledged write stands in the log once; a failed one does not; an unknown one at most once."""
    revisions = {row.revision for row in judge.rows_of.get(call.actor, ())}
    if isinstance(call.result, UNKNOWN):
        if len([each for each in revisions if not judge.reference.is_lost(each)]) > 1:
            judge.broken("P4 durable", call, f"written more than once: {sorted(revisions)}")
    elif isinstance(call.result, Exception):
        if any(not judge.reference.is_lost(each) for each in revisions):
            judge.broken("P4 durable", call, f"reported as failed, but written at {sorted(revisions)}")
    else:
        revision = _acknowledged(call.result)
        wrote = not isinstance(call.result, TxnResult) or _writes(call.result)
        # What a fail-over lost may have been written again.
        kept = {each for each in revisions if each == revision or not judge.reference.is_lost(each)}
        if wrote and kept != {revision}:
            judge.broken("P4 durable", call, f"acknowledged at {revision}, written at {sorted(revisions)}")
        if wrote and not judge.was_current(call, revision, after=True):
            judge.broken("P5 snapshots", call, f"{revision} is not after {judge.told(call)}")


def _acknowledged(result: object) -> Revision:
    if isinstance(result, KeyValue):
        return result.mod_revision
    assert isinstance(result, DeleteResult | TxnResult), result
    return result.revision


def _writes(result: TxnResult) -> bool:
    def any_write(outcomes: Any) -> bool:
        return any(
            hasattr(each, "kv")
            or bool(getattr(each, "previous", ()))
            or any_write(getattr(each, "outcomes", ()))
            for each in outcomes
        )

    return any_write(result.outcomes)


def p3_one_winner(judge: Judge, call: Call) -> None:
    """Whatever was written met its condition in the state right before it, whether it was acknowledged or not."""
    request = call.request
    rows = {row.revision: row for row in judge.rows_of.get(call.actor, ())}
    for row in rows.values():
        before = judge.before(row.revision)
        if isinstance(request, Transact):
            _check_txn(judge, call, row.revision)
            continue
        assert isinstance(request, Put | Delete)
        current = before.get(request.key)
        verb = request.verb if isinstance(request, Put) else "delete"
        if verb == "create" and current is not None:
            judge.broken("P3 one winner", call, f"created at {row.revision} over {current}")
        if verb in ("update", "delete") and current is None:
            judge.broken("P3 one winner", call, f"{verb} at {row.revision} of a key that does not exist")
        expect = None if isinstance(request, Put) and verb != "update" else request.expect
        if expect is not None and current is not None and current.mod_revision != expect:
            judge.broken("P3 one winner", call, f"won at {row.revision} over {current}")
        _check_row(judge, call, row)


def _check_row(judge: Judge, call: Call, row: LogRow) -> None:
    request = call.request
    value = request.value if isinstance(request, Put) else None
    lease = request.lease if isinstance(request, Put) else None
    key = request.key if isinstance(request, Put | Delete) else None
    if (row.key, row.value) != (key, value) or (value is not None and row.lease != lease):
        judge.broken("P4 durable", call, f"revision {row.revision} holds something else: {row}")
    if row.revision != getattr(call.result, "mod_revision", getattr(call.result, "revision", None)):
        return
    state = judge.reference.states[row.revision]
    if isinstance(call.result, KeyValue) and call.result != state.get(row.key):
        judge.broken("P4 durable", call, f"revision {row.revision} is {state.get(row.key)}")
    previous = judge.before(row.revision).get(row.key)
    if isinstance(call.result, DeleteResult) and call.result.previous != previous:
        judge.broken("P4 durable", call, f"the deleted version was {previous}")


def _check_txn(judge: Judge, call: Call, revision: Revision) -> None:
    assert isinstance(call.request, Transact)
    evaluation = Evaluation(judge.before(revision), revision)
    outcome = evaluation.txn(call.request.txn)
    if evaluation.state != judge.reference.states[revision]:
        judge.broken(
            "P3 one winner", call, f"revision {revision} is not what the transaction makes of the state"
        )
    result = call.result
    if (
        isinstance(result, TxnResult)
        and result.revision == revision
        and (result.succeeded, list(result.outcomes))
        != (
            outcome.succeeded,
            outcome.outcomes,
        )
    ):
        judge.broken("P5 snapshots", call, f"at {revision} the transaction answers {outcome}")


def p9_errors(judge: Judge, call: Call) -> None:
    """An error is one that the request can meet, and true at some moment of the call."""
    result = call.result
    if isinstance(result, (KeyExists, RevisionConflict)):
        current = result.current
        if not any((judge.state(each) or {}).get(current.key) == current for each in judge.window(call)):
            judge.broken("P3 one winner", call, f"{current} was never current during the call")
        if isinstance(result, RevisionConflict) and current.mod_revision == result.expected:
            judge.broken("P3 one winner", call, "it is at the expected revision")
    if isinstance(result, KeyNotFound) and (
        result.revision not in judge.window(call) or result.key in (judge.state(result.revision) or {})
    ):
        judge.broken("P3 one winner", call, f"the key exists at {result.revision}")


# --- reads


def p5_range(judge: Judge, call: Call, result: RangeResult) -> None:
    """A read is exactly the state at its revision."""
    request = call.request
    assert isinstance(request, List)
    state = _state_read(judge, call, result.revision)
    if state is None:
        return
    items = within(state, request.key_range)
    total = len(items)
    if request.keys_only:
        items = [_without_value(item) for item in items]
    limit = total if request.limit is None else request.limit
    if list(result.items) != items[:limit] or (result.more, result.total) != (limit < total, total):
        judge.broken("P5 snapshots", call, f"at {result.revision} there are {total}: {items}")


def p5_count(judge: Judge, call: Call, result: CountResult) -> None:
    """A count is that of the state at its revision."""
    assert isinstance(call.request, Count)
    state = _state_read(judge, call, result.revision)
    if state is not None and len(within(state, call.request.key_range)) != result.count:
        judge.broken("P5 snapshots", call, f"at {result.revision} it is another number")


def _without_value(item: KeyValue) -> KeyValue:
    return KeyValue(item.key, b"", item.create_revision, item.mod_revision, item.version, item.lease)


def _state_read(judge: Judge, call: Call, revision: Revision) -> State | None:
    at = getattr(call.request, "at", None)
    if at is not None and at != revision:
        judge.broken("P5 snapshots", call, f"asked for {at}, got {revision}")
    if at is None and not judge.was_current(call, revision):
        judge.broken("P5 snapshots", call, f"{revision} is not in {judge.told(call)}")
    if at is not None and at < call.node_floor:
        judge.broken(
            "P7 compaction", call, f"served below {call.node_floor}, which this node had acknowledged"
        )
    state = judge.state(revision)
    if state is None:
        judge.broken("P5 snapshots", call, f"there never was a revision {revision}")
    return state


def p5_get(judge: Judge, call: Call, request: Get) -> None:
    """A read of one key is its version at the asked revision, or at some moment of the call."""
    revisions = [request.at] if request.at is not None else judge.window(call)
    if not any((judge.state(each) or {}).get(request.key) == call.result for each in revisions):
        judge.broken("P5 snapshots", call, f"not so at any of {revisions}")


def p5_txn(judge: Judge, call: Call, result: TxnResult) -> None:
    """A transaction that wrote nothing answers from a state that was current during the call."""
    assert isinstance(call.request, Transact)
    if _writes(result):
        return
    state = judge.state(result.revision)
    if state is None or not judge.was_current(call, result.revision):
        judge.broken("P5 snapshots", call, f"{result.revision} is not in {judge.told(call)}")
        return
    evaluation = Evaluation(state, Revision(0))
    outcome = evaluation.txn(call.request.txn)
    if (result.succeeded, list(result.outcomes)) != (outcome.succeeded, outcome.outcomes):
        judge.broken("P5 snapshots", call, f"at {result.revision} the transaction answers {outcome}")


# --- errors of any request


def p7_acknowledged(judge: Judge, call: Call, to: Revision) -> None:
    """When a compaction is acknowledged, the floors are where they should be, but for prefixes that keep all."""
    spared = dict.fromkeys(judge.history.spared, to)
    low = [prefix for prefix, floor in {**call.floors, **spared}.items() if floor < to]
    if low and call.rewinds[0] == call.rewinds[1]:
        judge.broken(
            "P7 compaction", call, f"acknowledged while the floors of {low} were lower: {call.floors}"
        )


def p7_compacted(judge: Judge, call: Call, error: Compacted) -> None:
    """Only what lies below the floor of what was asked for is called compacted."""
    asked = getattr(call.request, "at", None) or getattr(call.request, "to", None)
    floor = judge.floor_of(call, range_of(call.request))
    if asked is None or asked >= error.compacted or error.compacted > floor:
        judge.broken("P7 compaction", call, f"the floor was {floor}")


def p5_future(judge: Judge, call: Call, error: RevisionInFuture) -> None:
    """A revision that a client had seen before is not in the future, unless a fail-over lost it."""
    if not any(low <= error.current <= high and error.requested > low for low, high, _ in judge.spans(call)):
        judge.broken("P5 snapshots", call, f"known and committed was {judge.told(call)}")


def p8_lease_error(judge: Judge, call: Call, error: LeaseNotFound | LeaseExists) -> None:
    """A lease that was there all the time, and had time left, is not reported as gone."""
    commits = judge.reference.commits[: call.commits[1]]
    if isinstance(error, LeaseExists) or call.faulty or judge.reference.rewinds or not commits:
        return
    granted = [
        lease for commit in commits[: call.commits[0]] for lease in commit.leases if lease.id == error.lease
    ]
    gone = any(error.lease in commit.leases_gone for commit in commits)
    if granted and not gone and granted[-1].expires_at > commits[-1].now_us:
        judge.broken("P8 leases", call, f"the lease stood: {granted[-1]}")


def not_now(judge: Judge, call: Call, error: Exception) -> None:
    """Once nothing fails any more, requests are served."""
    if not call.faulty and not isinstance(error, Overloaded):
        judge.broken("P10 bounds", call, "refused although nothing is wrong")


def nothing(_judge: Judge, _call: Call, _result: object) -> None:
    """Judged elsewhere."""


def p9_other(judge: Judge, call: Call, error: KinepyError) -> None:
    """A request that cannot be right fails by a named error; a right one by none of these."""
    if not _is_bad(call):
        judge.broken("P9 bad input", call, f"unexpected {error!r}")


def _is_bad(call: Call) -> bool:
    request = call.request
    if isinstance(request, Put):
        return not request.key or len(request.key) > 64 or len(request.value) > 256 or bool(request.lease)
    return isinstance(request, Transact) and len(request.txn.then) == 2


_Validator = Callable[[Judge, Call, Any], None]
_ANSWERS: Final[tuple[tuple[type | tuple[type, ...], _Validator], ...]] = (
    (RangeResult, p5_range),
    (CountResult, p5_count),
    (TxnResult, p5_txn),
    (Compacted, p7_compacted),
    (RevisionInFuture, p5_future),
    ((LeaseNotFound, LeaseExists), p8_lease_error),
    ((*UNKNOWN, KeyExists, KeyNotFound, RevisionConflict, TimeoutError), nothing),
    (NOT_NOW, not_now),
    (KinepyError, p9_other),
    ((KeyValue, DeleteResult), nothing),
)
