"""What goes wrong, how often, and when: drawn from the seed, a different mixture for each.

A run with every fault at once tests little but recovery, so each seed has only some of the kinds.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from random import Random
from typing import Final

from tests.simulation.loop import SimLoop
from tests.simulation.trace import Trace


class Fault(Enum):
    """One kind of trouble."""

    CRASH = "crash of a node"
    FREEZE = "a node stands still, perhaps holding the order lock"
    SLOW_NODE = "every statement of one node takes long"
    LOST_CONNECTION = "a connection breaks; nothing was committed"
    LOST_REPLY = "COMMIT was done, its answer is lost"
    LOST_COMMIT = "COMMIT was lost; the node cannot know"
    LATE_COMMIT = "the connection breaks, the database ends the transaction later"
    DISK_FULL = "the database refuses to commit, for a while"
    LOST_SIGNAL = "a wake-up is lost"
    LATE_SIGNAL = "a wake-up comes late"
    RESTART = "the database restarts; all connections are lost"
    CLOCK_FORWARD = "the clock that decides jumps ahead"
    CLOCK_BACK = "the clock that decides jumps back"
    FAIL_OVER = "a standby without the last commits takes over, and an operator begins an epoch"
    SILENT_FAIL_OVER = "a standby without the last commits takes over, or an older file; nobody says so"
    SYNCHRONOUS_FAIL_OVER = "a standby with all commits takes over"
    STALLED_COMPACTOR = "the right to compact is held by nobody alive"
    CANCELLED_CALL = "a client gives up waiting"
    CLOSE = "a node is closed in good order, under load, and opened again"


RATES: Final[dict[Fault, float]] = {
    Fault.CRASH: 0.002,
    Fault.FREEZE: 0.002,
    Fault.SLOW_NODE: 1.0,
    Fault.LOST_CONNECTION: 0.01,
    Fault.LOST_REPLY: 0.08,
    Fault.LOST_COMMIT: 0.08,
    Fault.LATE_COMMIT: 0.08,
    Fault.DISK_FULL: 0.05,
    Fault.LOST_SIGNAL: 0.6,
    Fault.LATE_SIGNAL: 0.3,
    Fault.RESTART: 1.0,
    Fault.CLOCK_FORWARD: 1.0,
    Fault.CLOCK_BACK: 1.0,
    Fault.FAIL_OVER: 0.5,
    Fault.SILENT_FAIL_OVER: 1.0,
    Fault.SYNCHRONOUS_FAIL_OVER: 0.5,
    Fault.STALLED_COMPACTOR: 0.3,
    Fault.CANCELLED_CALL: 0.1,
    Fault.CLOSE: 1.0,
}
"""How probable each is at one opportunity (of 1.0: how often in a run, see `cluster`)."""


class ConnectionBroke(Exception):
    """The node's connection to the database is gone."""


def pick_faults(random: Random) -> frozenset[Fault]:
    """The kinds of one run: none in one run of eight, else some of them."""
    if random.random() < 0.125:
        return frozenset()
    share = random.choice((0.15, 0.3, 0.6))
    return frozenset(fault for fault in Fault if random.random() < share)


@dataclass
class Faults:
    """Decides at every named point of a run what goes wrong there."""

    loop: SimLoop
    random: Random
    kinds: frozenset[Fault]
    trace: Trace
    active: bool = True
    slow: dict[str, float] = field(default_factory=dict)
    """how long a step of a slow node takes, at most"""
    crash: Callable[[str], bool] = lambda node: False
    """kills a node, unless it is not running"""
    count: dict[Fault, int] = field(default_factory=dict)

    def happens(self, fault: Fault) -> bool:
        """Whether a fault strikes at this opportunity."""
        if not self.active or fault not in self.kinds or self.random.random() >= RATES[fault]:
            return False
        self.note(fault)
        return True

    def note(self, fault: Fault) -> None:
        """Count a fault that struck."""
        self.count[fault] = self.count.get(fault, 0) + 1

    async def point(self, node: str, name: str) -> None:
        """A named place at which others may run, time may pass and the node may be struck."""
        draw = self.random.random()
        if self.active and (longest_s := self.slow.get(node.partition(".")[0])):
            await asyncio.sleep(draw * longest_s)
        elif draw < 0.75:
            await asyncio.sleep(0)
        elif draw < 0.97:
            await asyncio.sleep((draw - 0.75) * 0.02)
        else:
            await asyncio.sleep((draw - 0.97) * 8.0)
        if not self.active:
            return
        if self.happens(Fault.CRASH) and self.crash(node):
            self.trace(f"{node} crashes at {name}")
            await self.loop.create_future()
        if self.happens(Fault.FREEZE):
            seconds = self.random.choice((0.1, 1.0, 8.0))
            self.trace(f"{node} stands still for {seconds} s at {name}")
            self.loop.freeze(node, seconds)
            await asyncio.sleep(0)
        if self.happens(Fault.LOST_CONNECTION):
            self.trace(f"{node} loses its connection at {name}")
            raise ConnectionBroke
