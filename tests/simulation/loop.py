"""An event loop in which one seed decides what runs next, and time passes only when nothing can run.

It replaces the private `_run_once` of asyncio's base loop; nothing else of the simulation knows how. If a later
CPython takes `_ready` or `_scheduled` away, this file is what to write anew: a loop of its own needs no more
than `call_soon`, `call_at`, `create_future` and `create_task`.
"""

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar
from random import Random
from typing import Any, TypeVar

T = TypeVar("T")

NODE: ContextVar[str] = ContextVar("node", default="")
"""Which node (process) of the simulation the running code belongs to; inherited by the tasks it starts."""


class Deadlock(AssertionError):
    """Nothing can ever run again, although the simulation has not come to its end."""


class Endless(AssertionError):
    """The simulation runs on and on."""


class SimFuture(asyncio.Future[Any]):
    """A future whose hash is a serial number, so that sets of futures keep one order in every run."""

    def __init__(self, loop: "SimLoop") -> None:
        self.serial = loop.next_serial()
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self.serial


class SimTask(asyncio.Task[Any]):
    """A task that knows its node, and has a serial number as hash."""

    def __init__(
        self,
        coro: Coroutine[Any, Any, Any],
        *,
        loop: "SimLoop",
        context: Context | None = None,
        **options: Any,
    ) -> None:
        self.serial = loop.next_serial()
        self.node: str = NODE.get() if context is None else context.get(NODE, "")
        super().__init__(coro, loop=loop, context=context, **options)

    def __hash__(self) -> int:
        return self.serial


class SimLoop(asyncio.BaseEventLoop):
    """Runs one ready callback at a time, chosen by `random`; jumps to the next timer when none is ready."""

    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]

    def __init__(self, random: Random, *, steps_max: int) -> None:
        super().__init__()
        self.steps = 0
        self._random = random
        self._steps_max = steps_max
        self._now = 0.0
        self._serial = 0
        self._tasks: dict[str, list[SimTask]] = {}
        self._frozen: dict[str, list[asyncio.Handle]] = {}
        self.set_task_factory(self._make_task)  # type: ignore[arg-type]  # the typed factory knows no options

    def next_serial(self) -> int:
        """A number that no future or task of this loop had before."""
        self._serial += 1
        return self._serial

    def time(self) -> float:
        return self._now

    def create_future(self) -> asyncio.Future[Any]:
        return SimFuture(self)

    def run_in_executor(  # type: ignore[override]  # the arguments' types are not followed
        self, executor: Any, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Run it at once: threads would bring real scheduling back."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def freeze(self, node: str, seconds: float) -> None:
        """Stop everything of a node for a while, as SIGSTOP does."""
        self._frozen.setdefault(node, [])
        self.call_later(seconds, self.thaw, node, context=Context())

    def thaw(self, node: str) -> None:
        """Let a node go on, if it was frozen."""
        self._ready.extend(self._frozen.pop(node, ()))

    def thaw_all(self) -> None:
        """Let every node go on."""
        for node in list(self._frozen):
            self.thaw(node)

    def tasks_of(self, node: str) -> list[SimTask]:
        """The tasks of a node that have not ended, oldest first."""
        alive = [task for task in self._tasks.get(node, ()) if not task.done()]
        self._tasks[node] = alive
        return list(alive)

    def _make_task(self, _: Any, coro: Coroutine[Any, Any, Any], **options: Any) -> SimTask:
        task = SimTask(coro, loop=self, **options)
        if task.node:
            self._tasks.setdefault(task.node, []).append(task)
        return task

    def _run_once(self) -> None:
        self.steps += 1
        if self.steps > self._steps_max:
            raise Endless(f"no end after {self.steps} steps, at {self._now:.3f} s")
        ready = self._ready
        self._take_due_timers()
        if not ready:
            return
        chosen = int(self._random.random() * len(ready))
        ready[chosen], ready[-1] = ready[-1], ready[chosen]
        handle: Any = ready.pop()
        if handle._cancelled:
            return
        if self._frozen:
            frozen = self._frozen.get(handle._context.get(NODE, ""))
            if frozen is not None:
                frozen.append(handle)
                return
        handle._run()

    def _take_due_timers(self) -> None:
        scheduled = self._scheduled
        while scheduled and scheduled[0].cancelled():
            heapq.heappop(scheduled)
        if not self._ready:
            if not scheduled:
                raise Deadlock(f"nothing is left to run at {self._now:.3f} s")
            self._now = max(self._now, scheduled[0].when())
        while scheduled and scheduled[0].when() <= self._now:
            self._ready.append(heapq.heappop(scheduled))

    def _write_to_self(self) -> None:
        """Nobody sleeps in a selector."""

    def _process_events(self, event_list: Any) -> None:
        """There are none."""
