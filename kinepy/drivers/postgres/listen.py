"""Waking up when another process has committed.

Notifications are only hints, and they get lost: with the connection, or behind a pooler that gives the session away.
A lost connection is noticed by asking it from time to time; a deaf one by a notification to oneself. While nobody
listens, the wait is short and always says that there may be something.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

import asyncpg

from kinepy.clock import Clock
from kinepy.drivers.postgres.connection import disconnect
from kinepy.drivers.postgres.errors import DATABASE_ERRORS
from kinepy.errors import KinepyError
from kinepy.settings import Settings

logger = logging.getLogger(__name__)

_ECHO_WAIT_S: Final = 2.0
_PING_INTERVAL_S: Final = 10.0


class Listener:
    """Listens on a channel, in a task of its own, and connects again when the connection is lost."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[asyncpg.Connection]],
        notify: Callable[[str], Awaitable[None]],
        *,
        channel: str,
        token: str,
        settings: Settings,
        clock: Clock,
    ) -> None:
        self._connect, self._notify = connect, notify
        self._channel, self._token = channel, token
        self._settings, self._clock = settings, clock
        self._woken, self._echoed, self._lost = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._listening = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to listen, in the background."""
        self._task = asyncio.create_task(self._run(), name="kinepy-listen")

    async def close(self) -> None:
        """Stop listening. Twice is fine."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))

    async def wait(self, *, timeout_s: float) -> bool:
        """True when another process may have committed, False after `timeout_s`."""
        limit_s = timeout_s if self._listening else min(timeout_s, self._settings.poll_interval_s)
        try:
            async with asyncio.timeout(limit_s):
                await self._woken.wait()
        except TimeoutError:
            return not self._listening
        self._woken.clear()
        return True

    async def _run(self) -> None:
        pause = self._settings.poll_interval_s
        while True:
            try:
                await self._listen()
                pause = self._settings.poll_interval_s
            except (*DATABASE_ERRORS, KinepyError) as error:
                logger.debug("cannot listen error=%s", error)
            finally:
                self._listening = False
                self._woken.set()
            await self._clock.sleep(pause)
            pause = min(pause * 2, self._settings.reconnect_backoff_max_s)

    async def _listen(self) -> None:
        """Listen until the connection is lost."""
        connection = await self._connect()
        self._lost.clear()
        try:
            connection.add_termination_listener(self._on_lost)
            await connection.add_listener(self._channel, self._on_notification)
            self._listening = await self._hears_itself()
            if not self._listening:
                logger.warning("notifications do not arrive, polling instead channel=%s", self._channel)
            # What was committed before this moment was not heard.
            self._woken.set()
            while not await self._is_lost_within(_PING_INTERVAL_S):
                await connection.execute("SELECT 1")
        finally:
            await disconnect(connection)

    async def _hears_itself(self) -> bool:
        self._echoed.clear()
        await self._notify(f"{self._token} echo")
        return await _is_set_within(self._echoed, _ECHO_WAIT_S)

    async def _is_lost_within(self, seconds: float) -> bool:
        return await _is_set_within(self._lost, seconds)

    def _on_notification(self, _connection: Any, _pid: int, _channel: str, payload: object) -> None:
        if str(payload).startswith(f"{self._token} "):
            self._echoed.set()
        else:
            self._woken.set()

    def _on_lost(self, _connection: Any) -> None:
        self._listening = False
        self._lost.set()
        self._woken.set()


async def _is_set_within(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
