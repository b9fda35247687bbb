"""Broken on purpose: retention by prefix, mirrors."""

from collections.abc import Mapping, Sequence
from typing import Any

from kinepy.clients import Mirror
from kinepy.keys import KeyRange
from kinepy.log import compactor as compactor_module
from kinepy.log.compactor import Compactor
from kinepy.log.floors import Floors
from kinepy.log.hub import Hub
from kinepy.log.retain import Retainer
from kinepy.records import Event, WatchBatch
from kinepy.retention import Retention
from kinepy.revision import Revision
from tests.simulation.broken import Patch, broken
from tests.simulation.faults import Fault

QUIET = ("/b=forever",)
TWO = ("/a/=0s,2", "/b=forever")


# --- floors of prefixes


@broken("P7", retention=QUIET)
def quiet_prefix_trips_over_the_store() -> Sequence[Patch]:
    """The floor of the whole store is taken for that of each part."""
    return [(Floors, "of", lambda self, key_range: self.highest)]


@broken("P7", retention=TWO, compaction_keep_s=0.0, compaction_keep_changes=0)
def rows_deleted_by_the_floor_of_another_prefix() -> Sequence[Patch]:
    """What one prefix gives up goes for all."""
    return [(Floors, "of_prefix", lambda self, prefix: self.highest)]


@broken("P7", "P5", "P6", retention=TWO, compaction_keep_s=0.0, compaction_keep_changes=0)
def keys_of_a_longer_prefix_not_left_out() -> Sequence[Patch]:
    """The store's own floor is for all keys, whoever has another one."""

    def parts(prefixes: Mapping[bytes, Revision]) -> Mapping[bytes, Sequence[KeyRange]]:
        return {prefix: [KeyRange.prefix(prefix)] for prefix in {b"", *prefixes}}

    return [(compactor_module, "parts", parts)]


@broken("P7", retention=("/b=1s",), compaction_keep_s=3600.0)
def quiet_prefix_gives_up_what_is_not_there() -> Sequence[Patch]:
    """The floor rises with the clock, over nothing."""

    async def needed(self: Retainer, tx: Any, ranges: Any, *, floor: Revision, target: Revision) -> Revision:
        return target

    return [(Retainer, "_needed", needed)]


@broken("P7", retention=QUIET)
def compaction_by_hand_spares_nothing() -> Sequence[Patch]:
    """A prefix that is kept for ever is compacted all the same."""
    return [(compactor_module, "rule_for", lambda rules, prefix: Retention())]


@broken("P7", retention=TWO, compaction_keep_s=0.0, compaction_keep_changes=0)
def new_prefix_begins_at_the_beginning() -> Sequence[Patch]:
    """A prefix gets a floor of its own below what was given up of it."""
    real = Compactor._split

    async def split(self: Compactor, floors: Floors) -> Floors:
        low = Floors({b"": Revision(1)})
        missing = self._without_floor(floors)
        if missing:
            async with self._driver.write() as tx:
                for prefix in missing:
                    await tx.put_floor(prefix, low.of_prefix(prefix))
        return await real(self, await self._look_at_floors())

    async def later(self: Compactor) -> None:
        if self._metrics.compacted_rows:
            await apply(self)
        else:
            await self.compact(None)

    apply = Compactor.apply_retention
    return [(Compactor, "_split", split), (Compactor, "apply_retention", later)]


@broken(
    "P7",
    faults=[Fault.SLOW_NODE, Fault.LOST_SIGNAL, Fault.FREEZE],
    length=4,
    retention=QUIET,
    write_queue_max=100,
    compaction_keep_s=0.0,
    compaction_keep_changes=0,
)
def lagging_node_ends_quiet_watches() -> Sequence[Patch]:
    """A node that lags behind a compaction sends away those too who lost nothing."""
    real = Hub.skip_to

    def skip_to(self: Hub, revision: Revision, floors: Floors, **options: Any) -> None:
        real(self, revision, Floors({b"": floors.highest}), **options)

    return [(Hub, "skip_to", skip_to)]


# --- mirrors


@broken("P6", faults=[Fault.SILENT_FAIL_OVER, Fault.FAIL_OVER, Fault.SLOW_NODE, Fault.FREEZE])
def mirror_ignores_410() -> Sequence[Patch]:
    """A mirror whose history is gone goes on from now, with what it has."""

    async def list_anew(self: Mirror) -> None:
        self._revision = (await self._store.range(self._key_range)).revision

    return [(Mirror, "_list_anew", list_anew)]


@broken("P6", faults=[Fault.SILENT_FAIL_OVER, Fault.FAIL_OVER, Fault.SLOW_NODE, Fault.FREEZE])
def mirror_does_not_tell_what_went_while_it_was_away() -> Sequence[Patch]:
    """Keys that are not in the new list vanish without a word."""
    real = Mirror._list_anew

    async def list_anew(self: Mirror) -> None:
        tell = self._tell
        self._tell = lambda event: tell(event) if event.kv.version else None  # type: ignore[method-assign]
        try:
            await real(self)
        finally:
            del self._tell

    return [(Mirror, "_list_anew", list_anew)]


@broken("P6")
def mirror_forgets_deletions() -> Sequence[Patch]:
    """A key that was deleted stays."""
    real = Mirror._apply

    def apply(self: Mirror, batch: WatchBatch) -> None:
        kept: list[Event] = [event for event in batch.events if event.kv.version]
        real(self, WatchBatch(batch.progress, kept))

    return [(Mirror, "_apply", apply)]


@broken("P6")
def mirror_resumes_one_too_late() -> Sequence[Patch]:
    """After each break of its watch a mirror misses a revision."""

    async def watch_once(self: Mirror) -> None:
        async with self._store.watch(self._key_range, start=Revision(self._revision + 2)) as watch:
            self._watch = watch
            try:
                async for batch in watch:
                    self._apply(batch)
            finally:
                self._revision = self.revision
                self._watch = None

    return [(Mirror, "_watch_once", watch_once)]
