"""Group commit: every write of a process goes through one committer, in one order.

While a batch is being committed arriving writes queue; they form the next batch. A write is answered
only after its batch is durable, or surely is not, or cannot be told.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from random import Random
from typing import Protocol

from kinepy.clock import Clock
from kinepy.drivers.base import Driver, WriteTransaction
from kinepy.errors import (
    KinepyError,
    StorageUnavailable,
    StoreClosed,
    TransactionTooLarge,
    WriteOutcomeUnknown,
)
from kinepy.log.clock_steps import ClockSteps
from kinepy.log.continuity import Continuity
from kinepy.log.draft import Draft, Write
from kinepy.log.metrics import StoreMetrics
from kinepy.log.prereads import LocalState, Prereader
from kinepy.log.queue import WriteQueue, answer
from kinepy.records import Event
from kinepy.revision import Revision
from kinepy.settings import Settings

log = logging.getLogger("kinepy")

BATCH_ID_BITS = 63
BACKOFF_FIRST_S = 0.05
TIME_STEP_S = 0.01
OWN_BATCHES_KEPT = 64


class Follower(Protocol):
    """Who is told about this process' own commits."""

    def expect(self, first: Revision, last: Revision) -> None:
        """These revisions are about to be committed."""
        ...

    def commit_ended(self) -> None:
        """What was expected has been committed and told, or was not committed."""
        ...

    def committed(self, first: Revision, last: Revision, events: Sequence[Event]) -> None:
        """These revisions are durable."""
        ...


class _HistoryBroken(Exception):
    """The database does not know everything that was shown: nothing may be numbered before that is settled."""


class _Attempt:
    """One try to commit a batch."""

    __slots__ = ("answers", "batch", "begun", "draft", "entered", "first", "writes")

    def __init__(self, writes: Sequence[Write], batch: int) -> None:
        self.writes, self.batch = writes, batch
        self.entered, self.begun = False, 0.0
        self.first = Revision(0)
        self.draft: Draft | None = None
        self.answers: list[object] = []


class Committer:
    """The queue of writes and the task that commits them."""

    def __init__(
        self,
        driver: Driver,
        local: LocalState,
        follower: Follower,
        *,
        continuity: Continuity,
        steps: ClockSteps,
        settings: Settings,
        clock: Clock,
        random: Random,
        metrics: StoreMetrics,
    ) -> None:
        self._driver, self._local, self._follower = driver, local, follower
        self._continuity, self._steps = continuity, steps
        self._settings, self._clock, self._random, self._metrics = settings, clock, random, metrics
        self._queue = WriteQueue(settings=settings, clock=clock, metrics=metrics)
        self._running: Sequence[Write] = ()
        self._give_up = 0.0
        # The batch that runs is not to be committed any more: its callers were told that it was not.
        self._given_up = False
        # COMMIT was sent, and it is not known what came of it.
        self._fate_is_open = False
        self._closed = False
        self._ask_heads = not local.complete
        self._own: deque[tuple[Revision, Revision]] = deque(maxlen=OWN_BATCHES_KEPT)

    @property
    def busy(self) -> bool:
        """Whether writes are waiting."""
        return len(self._queue) > 0

    def submit(self, write: Write) -> "asyncio.Future[object]":
        """Queue a write; its answer is what `evaluate` returned, or raises.

        Raises `Overloaded` when the queue is full, `StoreClosed`. Cancelling the answer drops a write that
        is not yet in a batch, and changes nothing for one that is. The answer comes within twice
        `write_timeout_s`, whatever the database does.
        """
        if self._closed:
            raise StoreClosed
        self._queue.put(write)
        return write.answer

    def wrote(self, revision: Revision) -> bool:
        """Whether this process wrote a revision, as far as it remembers."""
        return any(first <= revision <= last for first, last in self._own)

    def close(self) -> None:
        """Refuse new and waiting writes; `run` returns when the running batch is finished."""
        self._closed = True
        self._queue.refuse(StoreClosed())
        self._queue.wake()

    def give_up(self) -> None:
        """Answer the callers of the batch that runs, if one does; it goes on without them."""
        if self._running:
            self._give_up_running()

    async def run(self) -> None:
        """Commit batches until closed."""
        while not self._closed:
            await self._queue.wait()
            # Callers that were just answered get to queue their next write into this batch.
            await asyncio.sleep(0)
            if writes := self._queue.take():
                await self._run_batch(writes)

    async def _run_batch(self, writes: Sequence[Write]) -> None:
        self._running, self._give_up = writes, self._clock.monotonic() + self._settings.write_timeout_s
        self._given_up = self._fate_is_open = False
        try:
            await self._commit(writes, give_up=self._give_up)
        except BaseException:
            # A defect: the store goes down, and nobody knows how far this batch got.
            _answer_all(writes, WriteOutcomeUnknown("the store failed while it was being written"))
            raise
        finally:
            self._running = ()

    async def keep_time(self) -> None:
        """Answer everybody who has waited for too long, while a batch hangs in the database. Runs until cancelled."""
        while True:
            await self._clock.sleep(self._time_left())
            self._queue.expire()
            if self._clock.monotonic() >= self._give_up:
                self.give_up()

    def _give_up_running(self) -> None:
        if self._fate_is_open:
            # When it turns out that it was committed, watchers are told.
            _answer_all(self._running, WriteOutcomeUnknown("the database does not answer to COMMIT"))
        else:
            self._given_up = True
            _answer_all(self._running, StorageUnavailable("it does not answer"))
        self._running = ()

    def _time_left(self) -> float:
        """Seconds until the next caller's time is over. Nobody's is sooner who comes while we sleep."""
        now, longest = self._clock.monotonic(), self._settings.write_timeout_s
        ends = [end for end in (self._queue.next_deadline(), self._give_up if self._running else None) if end]
        return max(min(min(ends, default=now + longest) - now, longest), TIME_STEP_S)

    async def _commit(self, writes: Sequence[Write], *, give_up: float) -> bool:
        """Commit a batch and answer its writes. Returns whether the database could be reached."""
        attempt = _Attempt(writes, self._random.getrandbits(BATCH_ID_BITS))
        try:
            await self._try_twice(attempt)
        except WriteOutcomeUnknown as error:
            self._metrics.failed("commit")
            await self._find_out(attempt, error, give_up=give_up)
        except Exception as error:
            self._fate_is_open = False
            # The batch surely did not commit: one bad write must not take the others with it.
            if not isinstance(error, TransactionTooLarge):
                if not isinstance(error, StorageUnavailable):
                    log.exception("a commit batch failed")
                self._metrics.failed("commit")
            if attempt.entered and len(writes) > 1 and not self._given_up:
                await self._commit_singly(writes, error, give_up=give_up)
            else:
                _answer_all(writes, error)
        else:
            self._acknowledge(attempt)
        finally:
            self._follower.commit_ended()
        return attempt.entered

    async def _commit_singly(self, writes: Sequence[Write], error: Exception, *, give_up: float) -> None:
        reachable = True
        for position, write in enumerate(writes):
            if not reachable:
                _answer_all(writes[position:], error)
                return
            if write.answer.done():
                # Given up meanwhile, or its caller has gone.
                continue
            reachable = await self._commit([write], give_up=give_up)

    async def _try_twice(self, attempt: _Attempt) -> None:
        """Try, and once more when the database had to be brought ahead of what was shown."""
        try:
            await self._try(attempt)
        except _HistoryBroken:
            await self._continuity.restore()
            try:
                await self._try(attempt)
            except _HistoryBroken:
                raise StorageUnavailable("it was replaced again and again") from None

    async def _try(self, attempt: _Attempt) -> None:
        """The one write transaction of a batch."""
        clock, metrics = self._clock, self._metrics
        asked = {key for write in attempt.writes for key in write.keys} if self._ask_heads else ()
        begun = attempt.begun = clock.monotonic()
        async with self._driver.write(asked) as tx:
            attempt.entered = True
            metrics.lock_wait_seconds.observe(clock.monotonic() - begun)
            draft = await self._draft(tx, attempt, asked)
            if draft.rows:
                self._follower.expect(attempt.first, draft.revision)
                await tx.append(draft.rows)
            for lease in draft.granted_leases.values():
                await tx.put_lease(lease)
            if draft.ended_leases:
                await tx.delete_leases(draft.ended_leases)
            if not draft.rows and not draft.is_empty:
                # No row of the log will tell that the batch was committed.
                await tx.put_lease_batch(draft.batch, now_us=draft.now_us)
            if self._given_up:
                raise StorageUnavailable("it did not answer in time")
            self._fate_is_open = True
        metrics.commit_seconds.observe(clock.monotonic() - begun)
        metrics.batch_size.observe(len(attempt.writes))

    async def _draft(self, tx: WriteTransaction, attempt: _Attempt, asked: "set[bytes] | tuple[()]") -> Draft:
        """Read what the batch needs and evaluate it."""
        local, clock = self._local, self._clock
        if self._continuity.is_broken(tx):
            raise _HistoryBroken
        # Heads are asked for with the lock only when the last batch met others' commits.
        self._ask_heads = not local.complete or local.revision != tx.revision
        # A server has read its clock when it gave the lock.
        since = attempt.begun if self._driver.facts.server_time else clock.monotonic()
        now_us = await tx.now_us()
        self._steps.observe(now_us, since=since)
        draft = Draft(
            revision=tx.revision,
            batch=attempt.batch,
            now_us=now_us,
            committed_at=tx.committed_at,
            steps=self._steps,
        )
        await Prereader(tx, draft, local, settings=self._settings).read(attempt.writes, asked)
        attempt.first = Revision(tx.revision + 1)
        attempt.draft = draft
        attempt.answers = answers = []
        for write in attempt.writes:
            try:
                answers.append(write.evaluate(draft))
            except KinepyError as error:
                answers.append(error)
        return draft

    def _acknowledge(self, attempt: _Attempt) -> None:
        draft = attempt.draft
        assert draft is not None
        # Also without rows: the answers tell at which revision they found what they found.
        self._continuity.saw(draft.revision)
        if draft.rows:
            self._own.append((attempt.first, draft.revision))
            self._follower.committed(attempt.first, draft.revision, draft.events)
        for write, result in zip(attempt.writes, attempt.answers, strict=True):
            answer(write, result)

    async def _find_out(self, attempt: _Attempt, error: WriteOutcomeUnknown, *, give_up: float) -> None:
        """The connection broke around COMMIT: look for the batch, under the order lock.

        Without the lock the dying backend might still commit after we have looked.
        """
        draft = attempt.draft
        if draft is not None and draft.is_empty:
            # There was nothing to commit: what was found out under the lock stands.
            self._acknowledge(attempt)
            return
        if draft is None:
            _answer_all(attempt.writes, error)
            return
        backoff = BACKOFF_FIRST_S
        while True:
            try:
                async with self._driver.write() as tx:
                    committed = await _is_committed(tx, draft, attempt.first)
                break
            except KinepyError:
                if self._closed or self._clock.monotonic() >= give_up:
                    _answer_all(attempt.writes, error)
                    return
            await self._clock.sleep(backoff)
            backoff = min(backoff * 2, self._settings.reconnect_backoff_max_s)
        if committed is None:
            _answer_all(attempt.writes, WriteOutcomeUnknown("its history was compacted meanwhile"))
        elif committed:
            self._acknowledge(attempt)
        elif self._clock.monotonic() < give_up:
            self._fate_is_open = False
            await self._commit(attempt.writes, give_up=give_up)
        else:
            _answer_all(attempt.writes, StorageUnavailable(error.reason))


async def _is_committed(tx: WriteTransaction, draft: Draft, first: Revision) -> bool | None:
    """Whether a batch that changes something is in the database; None when that cannot be told any more. The order
    lock is held."""
    if not draft.rows:
        return await tx.has_lease_batch(draft.batch)
    found = await tx.batch(draft.batch)
    if found is not None:
        # Some of its rows may have been compacted away meanwhile.
        assert first <= found[0] and found[1] <= draft.revision, (found, first, draft.revision)
        return True
    if tx.revision < first:
        return False
    # Its last row would stand, unless a floor has passed it: then all of its rows may have been there, and gone.
    floor = max((await tx.floors()).values(), default=first)
    return None if floor > draft.revision else False


def _answer_all(writes: Sequence[Write], error: Exception) -> None:
    for write in writes:
        answer(write, error)
