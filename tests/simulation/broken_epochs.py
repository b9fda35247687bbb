"""Broken on purpose: fail-overs, witnesses, epochs."""

import asyncio
from collections.abc import Sequence
from typing import Any

from kinepy.drivers.base import EpochRow, WriteTransaction
from kinepy.log import continuity as continuity_module
from kinepy.log import epochs as epochs_module
from kinepy.log.continuity import Continuity
from kinepy.log.witness import Witness
from kinepy.revision import Revision
from tests.simulation.broken import Patch, broken
from tests.simulation.faults import Fault

SILENT = (Fault.SILENT_FAIL_OVER,)
SILENT_WITH_CRASHES = (*SILENT, Fault.CRASH, Fault.FREEZE)


@broken("P12", "P2", faults=SILENT, postgres_standbys="asynchronous")
def server_not_compared() -> Sequence[Patch]:
    """A process that has seen no more than the standby has writes on, under numbers that others have shown."""
    return [(Continuity, "is_broken", lambda self, tx: tx.revision < self.seen)]


@broken("P12", "P2", faults=SILENT, postgres_standbys="asynchronous")
def standbys_taken_for_synchronous() -> Sequence[Patch]:
    """Another server is believed to have everything."""
    real = Continuity.__init__

    def init(self: Continuity, *arguments: Any, **options: Any) -> None:
        real(self, *arguments, **options | {"lossless": True})

    return [(Continuity, "__init__", init)]


@broken("P12", "P6", "P5", faults=SILENT, length=4, postgres_standbys="asynchronous")
def older_database_believed() -> Sequence[Patch]:
    """A reader takes what it is told for the newest, and so do those who watch."""

    async def current(self: Continuity) -> Revision:
        return await self._driver.current()

    return [(Continuity, "current", current)]


@broken("P12", "P2", "P10", faults=SILENT)
def witness_not_looked_at() -> Sequence[Patch]:
    """A process that starts knows nothing of what its folder has seen."""
    return [(Witness, "open", classmethod(lambda cls, path, *, store_id: _Forgetful()))]


class _Forgetful:
    """A witness without a memory."""

    seen = Revision(0)

    def saw(self, revision: Revision) -> None:
        """Forget it."""

    def sync(self) -> None:
        """Nothing is there."""

    def close(self) -> None:
        """Nothing is open."""


@broken("P12", "P2", "P5", faults=SILENT_WITH_CRASHES)
def witness_written_after_being_shown() -> Sequence[Patch]:
    """What was shown is written down a while later, which a process that dies does not live to see."""
    real = Witness.saw

    def saw(self: Witness, revision: Revision) -> None:
        asyncio.get_running_loop().call_later(1.0, _write, self, revision)

    def _write(self: Witness, revision: Revision) -> None:
        if self._descriptor >= 0:
            real(self, revision)

    return [(Witness, "saw", saw)]


@broken("P12", "P2", faults=SILENT)
def epoch_begins_at_the_next_revision() -> Sequence[Patch]:
    """The base is not ahead of what was lost."""

    async def begin_epoch(tx: WriteTransaction, *, seen: Revision, reason: str) -> EpochRow:
        newest = max(epoch.number for epoch in await tx.epochs())
        epoch = EpochRow(newest + 1, Revision(tx.revision + 1), reason, await tx.now_us())
        await tx.put_epoch(epoch)
        await tx.put_floor(b"", epoch.base_revision)
        if tx.lineage is not None:
            await tx.put_lineage(tx.lineage)
        return epoch

    return [(continuity_module, "begin_epoch", begin_epoch)]


@broken("P12", faults=SILENT, postgres_standbys="asynchronous")
def every_process_begins_an_epoch() -> Sequence[Patch]:
    """Whether another one has begun it is not looked at under the lock."""

    async def restored(self: Continuity, tx: WriteTransaction) -> Revision:
        epoch = await epochs_module.begin_epoch(tx, seen=self.seen, reason="broken")
        return epoch.base_revision

    async def begin(self: Continuity, *, witness_path: str | None) -> None:
        async with self._driver.write() as tx:
            await real(self, tx)
        self._lineage = tx.lineage

    real = Continuity._restored
    return [(Continuity, "_restored", restored), (Continuity, "begin", begin)]


@broken("P12", "P5", "P7", faults=SILENT)
def epoch_without_a_floor() -> Sequence[Patch]:
    """Revisions of before can be asked for, and mean something else."""
    from kinepy.log.floors import Floors

    real = Floors.__init__

    def init(self: Floors, by_prefix: Any, epoch: EpochRow | None = None) -> None:
        real(self, {prefix: floor for prefix, floor in by_prefix.items() if floor < 2**40}, None)

    return [(Floors, "__init__", init)]
