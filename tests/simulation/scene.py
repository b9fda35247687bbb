"""A scene: a cluster on which nothing happens by chance, for tests that say themselves what happens when."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

from kinepy import Settings
from kinepy.check import check
from tests.simulation.cluster import Cluster, open_driver
from tests.simulation.database import SQLITE, Mode, SimDatabase
from tests.simulation.faults import Faults
from tests.simulation.loop import SimLoop
from tests.simulation.reference import Reference
from tests.simulation.trace import Trace


def play(
    scene: Callable[[Cluster], Awaitable[None]],
    folder: Path,
    *,
    nodes: int,
    settings: Settings | None = None,
    mode: Mode = SQLITE,
) -> None:
    """Play a scene with so many nodes, from an empty database on. At the end `kinepy check` finds nothing wrong."""
    loop = SimLoop(Random(0), steps_max=100_000)
    trace = Trace(loop.time)
    faults = Faults(loop, Random(0), frozenset(), trace)
    reference = Reference([])

    async def main() -> None:
        database = SimDatabase(folder, mode, loop=loop, faults=faults, trace=trace, reference=reference)
        cluster = Cluster(database, settings or Settings(), loop=loop, random=Random(0), seed=0)
        cluster.add(nodes)
        await cluster.all_up()
        await scene(cluster)
        await cluster.stop()
        inspector = open_driver(database, "inspector", database.clock, cluster.settings)
        for problem in (await check(inspector)).problems:
            reference.broken("P1 order", f"kinepy check: {problem}")
        await inspector.close()
        database.close()

    try:
        loop.run_until_complete(main())
    finally:
        loop.close()
    assert not reference.violations, reference.violations
