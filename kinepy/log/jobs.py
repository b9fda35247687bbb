"""The tasks that run as long as a store is open: they have one owner, and they end before it does."""

import asyncio
import logging
from collections.abc import Callable, Coroutine

log = logging.getLogger("kinepy")


class Jobs:
    """Named tasks. One that dies of an error takes the store down: nothing goes on silently without it."""

    def __init__(self, on_failure: Callable[[], None]) -> None:
        self._on_failure = on_failure
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def start(self, name: str, job: Coroutine[None, None, None]) -> None:
        """Start a job."""
        task = asyncio.create_task(job, name=f"kinepy {name}")
        task.add_done_callback(self._ended)
        self._tasks[name] = task

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.critical("%s failed", task.get_name(), exc_info=error)
            self._on_failure()

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        """All of them, for who wants to see that they have ended."""
        return list(self._tasks.values())

    async def finish(self, name: str) -> None:
        """Wait until a job that was told to end has ended."""
        if name in self._tasks:
            await asyncio.wait([self._tasks[name]])

    async def cancel(self) -> None:
        """End all jobs."""
        for task in self._tasks.values():
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks.values())
