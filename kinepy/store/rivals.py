"""Processes that compete for the same keys take turns.

A process that lost against another asks the database for precedence before it tries again, and has it for a moment,
for all the keys that processes compete for. What the others would do meanwhile would be in vain, and would only keep
the winner waiting for the database's lock. All this only saves work, and gives everybody a share: who wins is decided
by the store, and where there is no precedence to be had everybody tries without it.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final

from kinepy.clock import Clock
from kinepy.errors import StorageUnavailable
from kinepy.revision import Revision

RUN_S: Final = 0.05
"""How long a process that has precedence goes on, if there is so much to do."""
IDLE_S: Final = 0.004
"""Whoever has nothing to do for so long lets others have it."""
LAST_TRIES_S: Final = 1.0
"""What was begun in time is waited for, but not for ever."""
SEEN_S: Final = 2.0
"""Others compete for a key when one of them was first within this time."""
WITHOUT_S: Final = 5.0
"""How long nobody asks for precedence after it could not be had."""
KEYS_MAX: Final = 1024

Precedence = Callable[[], AbstractAsyncContextManager[bool]]


class Rivals:
    """What one process knows of those that compete with it. For one event loop."""

    def __init__(self, precedence: Precedence, *, is_own: Callable[[Revision], bool], clock: Clock) -> None:
        """`is_own` tells whether this process wrote a revision, as far as it knows."""
        self._precedence, self._is_own, self._clock = precedence, is_own, clock
        self._keys: dict[bytes, float] = {}
        """When another process was first at a key; the one that was seen longest ago comes first."""
        self._wanted = asyncio.Event()
        self._granted = asyncio.Event()
        self._trying = 0
        self._idle_since = self._waited_at = self._without_until = 0.0

    def __len__(self) -> int:
        return len(self._keys)

    def met(self, key: bytes, revision: Revision) -> None:
        """A try has met a version of the key that it did not know."""
        if self._is_own(revision):
            return
        # Put in anew, so that the order is that of the times.
        self._keys.pop(key, None)
        if len(self._keys) >= KEYS_MAX:
            del self._keys[next(iter(self._keys))]
        self._keys[key] = self._clock.monotonic()

    async def begin(self, key: bytes) -> bool:
        """Wait for precedence, where others compete for a key. Call `end` after the try if this returns True."""
        seen_at = self._keys.get(key)
        if seen_at is None:
            return False
        now = self._clock.monotonic()
        if now - max(seen_at, self._waited_at) > SEEN_S:
            del self._keys[key]
            return False
        if now < self._without_until:
            return False
        while not self._granted.is_set():
            self._wanted.set()
            await self._granted.wait()
        self._trying += 1
        return True

    def end(self) -> None:
        """The try is over."""
        self._trying -= 1
        if not self._trying:
            self._idle_since = self._clock.monotonic()

    async def run(self) -> None:
        """Have precedence now and then, as long as somebody wants it. Runs until cancelled."""
        try:
            while True:
                await self._wanted.wait()
                self._wanted.clear()
                await self._ask()
        finally:
            # Whoever waits still is told by its try that the store is closed.
            self._granted.set()

    async def _ask(self) -> None:
        asked = self._clock.monotonic()
        try:
            async with self._precedence() as had:
                if had:
                    await self._have(waited_s=self._clock.monotonic() - asked)
                    return
        except StorageUnavailable:
            pass
        self._without_until = self._clock.monotonic() + WITHOUT_S
        await self._let_begin()

    async def _have(self, *, waited_s: float) -> None:
        now = self._idle_since = self._clock.monotonic()
        if waited_s > IDLE_S:
            self._waited_at = now
        end = now + RUN_S
        self._granted.set()
        while now < end and (self._trying or now - self._idle_since < IDLE_S):
            await self._clock.sleep(IDLE_S / 2)
            now = self._clock.monotonic()
        self._granted.clear()
        end = now + LAST_TRIES_S
        while self._trying and self._clock.monotonic() < end:
            await self._clock.sleep(IDLE_S / 2)

    async def _let_begin(self) -> None:
        self._granted.set()
        await asyncio.sleep(0)
        self._granted.clear()
