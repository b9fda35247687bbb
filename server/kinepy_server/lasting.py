"""Tasks that are to run for as long as the server does."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

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
