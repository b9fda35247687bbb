"""A scene: a cluster on which nothing happens by chance, for tests that say themselves what happens when."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

from kinepy import Settings
from tests.simulation.cluster import Cluster
from tests.simulation.database import SQLITE, SimDatabase
from tests.simulation.faults import Faults
from tests.simulation.loop import SimLoop
from tests.simulation.reference import Reference
from tests.simulation.trace import Trace


def play(
    scene: Callable[[Cluster], Awaitable[None]], folder: Path, *, nodes: int, settings: Settings | None = None
) -> None:
    """Play a scene with so many nodes, from an empty database on."""
    loop = SimLoop(Random(0), steps_max=100_000)
    trace = Trace(loop.time)
    faults = Faults(loop, Random(0), frozenset(), trace)
    reference = Reference([])

    async def main() -> None:
        database = SimDatabase(folder, SQLITE, loop=loop, faults=faults, trace=trace, reference=reference)
        cluster = Cluster(database, settings or Settings(), loop=loop, random=Random(0), seed=0)
        cluster.add(nodes)
        await cluster.all_up()
        await scene(cluster)
        await cluster.stop()
        database.close()

    try:
        loop.run_until_complete(main())
    finally:
        loop.close()
    assert not reference.violations, reference.violations
