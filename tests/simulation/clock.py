"""Virtual clocks: one for the database's machine, one for each node's, and these may jump."""

import asyncio
from dataclasses import dataclass
from typing import Final

from tests.simulation.loop import SimLoop

START_US: Final = 1_800_000_000_000_000


@dataclass
class SimClock:
    """The loop's virtual time as a machine sees it."""

    loop: SimLoop
    offset_us: int = 0

    def now_us(self) -> int:
        return START_US + round(self.loop.time() * 1_000_000) + self.offset_us

    def monotonic(self) -> float:
        return self.loop.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
