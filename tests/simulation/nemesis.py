"""What strikes at times of its own: restarts, fail-overs, clock jumps, nodes that become slow or are closed."""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Final

from tests.simulation.cluster import Cluster
from tests.simulation.faults import Fault

CLOCK_WRONG_S_MAX: Final = 15.0
SLOW_STEPS_S: Final = (0.2, 0.2, 1.0)
LOSSES_MAX: Final = 2
"""How often a run loses commits."""
LOSING: Final = (Fault.FAIL_OVER, Fault.SILENT_FAIL_OVER)


class Nemesis:
    """Does the kinds of fault that are not bound to a point of the program."""

    def __init__(self, cluster: Cluster, random: Random) -> None:
        self._cluster, self._random = cluster, random
        self._database = cluster.database
        self._losses = 0

    async def run(self) -> None:
        """Strike now and then, until the faults stop."""
        database, faults = self._database, self._database.faults
        while not database.reference.commits:  # noqa: ASYNC110  # time is virtual
            # A server that was never used by anybody is no loss.
            await asyncio.sleep(0.01)
        database.copy()
        deeds: dict[Fault, Callable[[], None]] = {
            Fault.RESTART: self._restart,
            Fault.CLOCK_FORWARD: self._set_ahead,
            Fault.CLOCK_BACK: self._set_back,
            Fault.SLOW_NODE: self._slow,
            Fault.FAIL_OVER: lambda: self._lose(announced=True),
            Fault.SILENT_FAIL_OVER: lambda: self._lose(announced=False),
            Fault.SYNCHRONOUS_FAIL_OVER: database.take_over_whole,
            Fault.CLOSE: self._close,
        }
        kinds = [kind for kind in deeds if kind in faults.kinds and self._is_possible(kind)]
        while faults.active and kinds:
            await asyncio.sleep(self._random.random() * 2.5)
            if self._random.random() < 0.5:
                database.copy()
            kind = self._random.choice(kinds)
            if not (kind in LOSING and self._losses >= LOSSES_MAX) and faults.happens(kind):
                deeds[kind]()

    def _is_possible(self, kind: Fault) -> bool:
        """Commits are lost only where the nodes have not been told that their standbys are synchronous."""
        servers_change = self._database.mode.servers_change
        synchronous = servers_change and self._cluster.settings.postgres_standbys == "synchronous"
        if kind is Fault.SYNCHRONOUS_FAIL_OVER:
            return synchronous
        return kind is not Fault.SILENT_FAIL_OVER or not synchronous

    def _restart(self) -> None:
        self._database.trace("the database restarts")
        self._database.restart()

    def _set_ahead(self) -> None:
        self._set_clock(CLOCK_WRONG_S_MAX)

    def _set_back(self) -> None:
        self._set_clock(-CLOCK_WRONG_S_MAX)

    def _set_clock(self, limit_s: float) -> None:
        """Set a clock to somewhere between what it says and the most by which one may be wrong."""
        node = self._random.choice(self._cluster.nodes)
        clock, name = node.clock, node.name
        if self._database.mode.server_time:
            clock, name = self._database.clock, "the database"
        seconds = (limit_s - clock.offset_us / 1_000_000) * self._random.random()
        self._database.trace(f"the clock of {name} jumps by {seconds:.3f} s")
        clock.offset_us += round(seconds * 1_000_000)

    def _slow(self) -> None:
        slow = self._database.faults.slow
        slow.clear()
        slow[self._random.choice(self._cluster.nodes).name] = self._random.choice(SLOW_STEPS_S)

    def _close(self) -> None:
        self._cluster.background(self._random.choice(self._cluster.nodes).reopen())

    def _lose(self, *, announced: bool) -> None:
        self._losses += 1
        if not self._database.mode.servers_change:
            # Nobody can go on in a file that was exchanged.
            for node in self._cluster.nodes:
                node.crash()
        self._database.fail_over(announced=announced)
