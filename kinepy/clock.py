"""Time comes in from outside, so that a simulation can own it."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """A source of time."""

    def now_us(self) -> int:
        """Microseconds since 1970, UTC. May jump."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards, from an arbitrary start."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""
        ...


class SystemClock:
    """The machine's clock."""

    def now_us(self) -> int:
        return time.time_ns() // 1000

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
