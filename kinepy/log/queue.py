"""The queue in front of the committer: bounded in writes, in bytes, and in the time that anybody waits in it."""

import asyncio
from collections import deque

from kinepy.clock import Clock
from kinepy.errors import KinepyError, Overloaded, StorageUnavailable
from kinepy.log.draft import Write
from kinepy.log.metrics import StoreMetrics
from kinepy.settings import Settings


class WriteQueue:
    """Writes that wait for their batch, in the order in which they came. All may wait equally long, so that the
    first one's turn to give up comes first."""

    def __init__(self, *, settings: Settings, clock: Clock, metrics: StoreMetrics) -> None:
        self._settings, self._clock, self._metrics = settings, clock, metrics
        self._writes: deque[Write] = deque()
        self._bytes = 0
        self._waiter: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        return len(self._writes)

    def put(self, write: Write) -> None:
        """Add a write. Raises `Overloaded` when a bound is reached; an empty queue takes any write."""
        limits = self._settings
        if len(self._writes) >= limits.write_queue_max:
            raise Overloaded(what="write_queue_max", limit=limits.write_queue_max)
        if self._writes and self._bytes + write.size_bytes > limits.write_queue_bytes_max:
            raise Overloaded(what="write_queue_bytes_max", limit=limits.write_queue_bytes_max)
        write.answer = asyncio.get_running_loop().create_future()
        write.deadline = self._clock.monotonic() + limits.write_timeout_s
        self._writes.append(write)
        self._bytes += write.size_bytes
        self.wake()

    def take(self) -> list[Write]:
        """The next batch: bounded by writes and by bytes, at least one write unless nobody waits any more."""
        self.expire()
        writes: list[Write] = []
        room = self._settings.batch_bytes_max
        while self._writes and len(writes) < self._settings.batch_writes_max:
            if writes and self._writes[0].size_bytes > room:
                break
            write = self._pop()
            if not write.answer.done():
                room -= write.size_bytes
                writes.append(write)
        self._metrics.queued_writes = len(self._writes)
        return writes

    def expire(self) -> None:
        """Refuse those whose turn did not come in time."""
        now = self._clock.monotonic()
        while self._writes and self._writes[0].deadline < now:
            answer(self._pop(), StorageUnavailable("the write waited too long for its turn"))

    def next_deadline(self) -> float | None:
        """When somebody's time is over; None when nobody waits."""
        return self._writes[0].deadline if self._writes else None

    def refuse(self, error: KinepyError) -> None:
        """Answer all of them with an error."""
        while self._writes:
            answer(self._pop(), error)

    def _pop(self) -> Write:
        write = self._writes.popleft()
        self._bytes -= write.size_bytes
        return write

    async def wait(self) -> None:
        """Return when there is a write, or on `wake`."""
        if not self._writes:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
            self._waiter = None

    def wake(self) -> None:
        """Let `wait` return."""
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)


def answer(write: Write, result: object) -> None:
    """Give a caller its answer, unless it has one or has gone."""
    future = write.answer
    if future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
