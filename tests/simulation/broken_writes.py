"""Broken on purpose: commits, compare-and-write, compaction, leases."""

import asyncio
from collections.abc import Collection, Sequence
from typing import Any

from kinepy.errors import StorageUnavailable, WriteOutcomeUnknown
from kinepy.keys import KeyRange
from kinepy.log.committer import Committer
from kinepy.log.draft import Draft
from kinepy.log.prereads import Prereader
from kinepy.revision import Revision
from kinepy.store import writes as writes_module
from kinepy.store.lease import EndLease
from tests.simulation.broken import Patch, broken
from tests.simulation.driver import SimDriver, SimMaintenance, SimWrite

# --- the order lock and the commit


@broken("P1", "P2", "P3", "P9")
def lock_and_check_in_one_statement() -> Sequence[Patch]:
    """The snapshot that is checked is older than the lock."""

    async def begin(self: SimDriver, tx: SimWrite, keys: Collection[bytes]) -> None:
        await tx.read_heads(keys)
        await self.lock(tx)

    return [(SimDriver, "begin", begin)]


@broken("P1", "P2")
def counter_from_the_newest_row_alone() -> Sequence[Patch]:
    """After a fail-over numbers are given out again, since the epoch's base is forgotten."""
    real = SimWrite.read_heads

    async def read_heads(self: SimWrite, keys: Collection[bytes]) -> None:
        await real(self, keys)
        text = "SELECT coalesce(max(revision), 1) FROM log"
        rows = await self.connection.run(lambda raw: raw.execute(text).fetchall())
        self.revision = Revision(rows[0][0])

    return [(SimWrite, "read_heads", read_heads)]


@broken("P4", "P5", "P6")
def acknowledged_before_commit() -> Sequence[Patch]:
    """A commit that fails is taken for done."""
    real = SimDriver.commit

    async def commit(self: SimDriver, tx: SimWrite) -> None:
        try:
            await real(self, tx)
        except (StorageUnavailable, WriteOutcomeUnknown):
            return

    return [(SimDriver, "commit", commit)]


@broken("P6", "P5")
def published_before_commit() -> Sequence[Patch]:
    """Watchers are told inside the transaction."""
    real = Committer._draft

    async def draft(self: Committer, *arguments: Any) -> Draft:
        drafted = await real(self, *arguments)
        if drafted.rows:
            self._follower.committed(arguments[1].first, drafted.revision, drafted.events)
        return drafted

    return [(Committer, "_draft", draft)]


@broken("P4")
def unknown_reported_as_failed() -> Sequence[Patch]:
    """A commit whose answer was lost is called failed."""

    async def find_out(self: Committer, attempt: Any, error: Any, *, give_up: float) -> None:
        for write in attempt.writes:
            if not write.answer.done():
                write.answer.set_exception(StorageUnavailable(error.reason))

    return [(Committer, "_find_out", find_out)]


@broken("P4", "P3")
def unknown_repeated_without_looking() -> Sequence[Patch]:
    """A commit whose answer was lost is done again."""

    async def find_out(self: Committer, attempt: Any, error: Any, *, give_up: float) -> None:
        await self._commit(attempt.writes, give_up=give_up)

    return [(Committer, "_find_out", find_out)]


@broken("P4", "P3")
def unknown_looked_for_without_the_lock() -> Sequence[Patch]:
    """The dying backend commits after we have looked."""

    async def find_out(self: Committer, attempt: Any, error: Any, *, give_up: float) -> None:
        async with self._driver.read() as tx:
            found = await tx.batch(attempt.batch)
        if found is None:
            await self._commit(attempt.writes, give_up=give_up)
        else:
            self._acknowledge(attempt)

    return [(Committer, "_find_out", find_out)]


@broken("P1")
def time_of_the_log_follows_the_clock() -> Sequence[Patch]:
    """A clock that was set back takes the log with it."""
    real = Draft.__init__

    def init(self: Draft, **options: Any) -> None:
        real(self, **options)
        self.committed_at = options["now_us"]

    return [(Draft, "__init__", init)]


@broken("P1", "P9")
def a_failed_write_takes_a_number() -> Sequence[Patch]:
    """A conflict leaves a hole in the log."""
    real = writes_module.check_expected

    def check_expected(draft: Draft, key: bytes, expect: Revision | None) -> Any:
        try:
            return real(draft, key, expect)
        except Exception:
            draft.revision = Revision(draft.revision + 1)
            raise

    return [(writes_module, "check_expected", check_expected)]


# --- compare and write


@broken("P3")
def expected_revision_not_compared() -> Sequence[Patch]:
    """Everybody who expects something wins."""
    real = writes_module.check_expected
    return [(writes_module, "check_expected", lambda draft, key, expect: real(draft, key, None))]


@broken("P3", "P1", "P9")
def memory_trusted_under_the_lock() -> Sequence[Patch]:
    """The local index is used although others have committed since."""
    real = Prereader.__init__

    def init(self: Prereader, tx: Any, draft: Draft, local: Any, *, settings: Any) -> None:
        real(self, tx, draft, local, settings=settings)
        self._local_is_head = local.complete

    return [(Prereader, "__init__", init)]


# --- compaction and leases


@broken("P7", "P6", "P9")
def compactor_ignores_the_floor() -> Sequence[Patch]:
    """Versions are deleted that a read at the floor can see."""
    real = SimMaintenance.delete_superseded

    async def delete_superseded(
        self: SimMaintenance, key_range: KeyRange, *, after: Revision, upto: Revision, floor: Revision
    ) -> int:
        further = Revision(floor + 3)
        return await real(self, key_range, after=after, upto=Revision(upto + 3), floor=further)

    return [(SimMaintenance, "delete_superseded", delete_superseded)]


@broken("P7")
def rows_deleted_before_the_floor_moves() -> Sequence[Patch]:
    """A crash, or another process, between the two finds history gone that is still promised."""

    async def put_floor(self: SimMaintenance, prefix: bytes, revision: Revision) -> None:
        everything = KeyRange.everything()
        await self.delete_superseded(everything, after=Revision(0), upto=revision, floor=revision)
        await asyncio.sleep(5.0)

    return [(SimMaintenance, "put_floor", put_floor)]


@broken("P8")
def lease_ended_without_looking_again() -> Sequence[Patch]:
    """A lease that was kept alive in the meantime is ended all the same."""

    def evaluate(self: EndLease, draft: Draft) -> Revision:
        revision = Revision(draft.revision + 1)
        for sub, key in enumerate(draft.keys_of_lease(self.lease)):
            draft.delete(key, revision=revision, sub=sub, actor=None)
        draft.end_lease(self.lease)
        return draft.revision

    return [(EndLease, "evaluate", evaluate)]


@broken("P8")
def lease_keys_die_one_by_one() -> Sequence[Patch]:
    """Each key of a lease takes a revision of its own."""

    def evaluate(self: EndLease, draft: Draft) -> Revision:
        for key in draft.keys_of_lease(self.lease):
            draft.delete(key, revision=Revision(draft.revision + 1), actor=None)
        draft.end_lease(self.lease)
        return draft.revision

    return [(EndLease, "evaluate", evaluate)]


@broken("P8")
def lease_not_checked_at_a_put() -> Sequence[Patch]:
    """A key is attached to a lease that is gone, and outlives it."""
    return [(Draft, "check_lease", lambda self, lease: None)]
