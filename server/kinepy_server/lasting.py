"""What is to run for as long as the server does, and what is not to keep it from ending."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeVar

Result = TypeVar("Result")

_log = logging.getLogger("kinepy.server")


def in_background(work: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None]:
    """Begin it. That it has failed is logged at once: nobody waits for it, and others rely on it."""
    task = asyncio.create_task(work, name=name)
    task.add_done_callback(_tell)
    return task


def _tell(task: asyncio.Task[None]) -> None:
    error = None if task.cancelled() else task.exception()
    if error is not None:
        _log.error("the task %s has failed, restart the server", task.get_name(), exc_info=error)


async def in_own_thread(call: Callable[[], Result]) -> Result:
    """Call it in a thread that nobody waits for when the server ends: a disk, or a lock, may hold it up for ever."""
    done: Future[Result] = Future()
    done.set_running_or_notify_cancel()

    def run() -> None:
        try:
            done.set_result(call())
        except BaseException as error:
            done.set_exception(error)

    Thread(target=run, name="kinepy-aside", daemon=True).start()
    return await asyncio.wrap_future(done)
