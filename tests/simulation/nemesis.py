"""What strikes at times of its own: restarts, fail-overs, clock jumps, nodes that become slow or are closed."""

import asyncio
from collections.abc import Callable
from random import Random

from tests.simulation.cluster import Cluster
from tests.simulation.faults import Fault

CLOCK_JUMP_S_MAX = 30.0


class Nemesis:
    """Does the kinds of fault that are not bound to a point of the program."""

    def __init__(self, cluster: Cluster, random: Random) -> None:
        self._cluster, self._random = cluster, random
        self._failed_over = False

    async def run(self) -> None:
        """Strike now and then, until the faults stop."""
        database, faults = self._cluster.database, self._cluster.database.faults
        database.copy()
        deeds: dict[Fault, Callable[[], None]] = {
            Fault.RESTART: self._restart,
            Fault.CLOCK_JUMP: self._jump,
            Fault.SLOW_NODE: self._slow,
            Fault.FAIL_OVER: self._fail_over,
            Fault.CLOSE: self._close,
        }
        kinds = [kind for kind in deeds if kind in faults.kinds]
        while faults.active and kinds:
            await asyncio.sleep(self._random.random() * 2.5)
            if self._random.random() < 0.5:
                database.copy()
            kind = self._random.choice(kinds)
            if faults.happens(kind):
                deeds[kind]()

    def _restart(self) -> None:
        self._cluster.database.trace("the database restarts")
        self._cluster.database.restart()

    def _jump(self) -> None:
        node = self._random.choice(self._cluster.nodes)
        seconds = (self._random.random() - 0.5) * CLOCK_JUMP_S_MAX
        self._cluster.database.trace(f"the clock of {node.name} jumps by {seconds:.3f} s")
        node.clock.offset_us += round(seconds * 1_000_000)

    def _slow(self) -> None:
        slow = self._cluster.database.faults.slow
        slow.clear()
        slow.add(self._random.choice(self._cluster.nodes).name)

    def _close(self) -> None:
        self._cluster.background(self._random.choice(self._cluster.nodes).reopen())

    def _fail_over(self) -> None:
        if not self._failed_over:
            self._failed_over = True
            self._cluster.database.fail_over()
