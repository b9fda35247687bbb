"""Time limits for many requests at once, with one timer for all of them.

`asyncio.timeout` makes and cancels a timer of the event loop for each use, which costs more than reading an
object does. Here a request is put into the set of those that end in the same twentieth of a second.
"""

import asyncio
from types import TracebackType
from typing import Any, Final

TICK_S: Final = 0.05


class Deadline:
    """The limit of one request; a context manager for the task that serves it.

    Raises `TimeoutError` where the body was cancelled because the time was up; `expired` says so too.
    """

    __slots__ = ("_bucket", "_cancelling", "_task", "expired")

    def __init__(self, bucket: set["Deadline"]) -> None:
        self._bucket = bucket
        self._task: asyncio.Task[Any] | None = None
        self._cancelling = 0
        self.expired = False

    def __enter__(self) -> "Deadline":
        task = asyncio.current_task()
        assert task is not None
        self._task, self._cancelling = task, task.cancelling()
        self._bucket.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._bucket.discard(self)
        if self.expired and self._task is not None:
            ours = self._task.uncancel() <= self._cancelling
            if ours and isinstance(error, asyncio.CancelledError):
                raise TimeoutError from error
        self._task = None

    def expire(self) -> None:
        """The time is up."""
        if self._task is not None and not self.expired:
            self.expired = True
            self._task.cancel()


class Deadlines:
    """Makes deadlines; they come up to `TICK_S` late, never early."""

    def __init__(self) -> None:
        self._buckets: dict[int, set[Deadline]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._next = 0

    def after(self, seconds: float) -> Deadline:
        """A deadline so many seconds from now."""
        loop = asyncio.get_running_loop()
        tick = int((loop.time() + seconds) / TICK_S) + 1
        bucket = self._buckets.get(tick)
        if bucket is None:
            bucket = self._buckets[tick] = set()
            if self._timer is None or tick < self._next:
                self._set_timer(loop, tick)
        return Deadline(bucket)

    def _set_timer(self, loop: asyncio.AbstractEventLoop, tick: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._next = tick
        self._timer = loop.call_at(tick * TICK_S, self._tick, loop)

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = loop.time()
        for tick in sorted(self._buckets):
            if tick * TICK_S > now:
                self._set_timer(loop, tick)
                return
            for deadline in tuple(self._buckets.pop(tick)):
                deadline.expire()
