"""The store's face to its users."""

from collections.abc import AsyncIterator
from typing import Self

from kinepy.keys import KeyRange
from kinepy.records import (
    CountResult,
    DeleteResult,
    KeyValue,
    Lease,
    LeaseStatus,
    RangeResult,
    StoreStatus,
    Txn,
    TxnResult,
    WatchBatch,
)
from kinepy.revision import Revision


class Watch:
    """One open watch: an async iterator of `WatchBatch` and an async context manager.

    Iterating yields all that is pending at once, merged into one batch of whole revisions. It raises
    `WatchOverflow` when the watcher was too slow, `Compacted` when history it still needs is gone,
    `StoreClosed` when the store closes; nothing follows an error. Closing ends the iteration.
    """

    @property
    def progress(self) -> Revision:
        """Everything matching up to this revision has been *yielded*. Never ahead of undelivered events; on an idle
        watch it follows the store's applied revision."""
        raise NotImplementedError

    def __aiter__(self) -> AsyncIterator[WatchBatch]:
        return self

    async def __anext__(self) -> WatchBatch:
        """The next events; waits until there are some."""
        raise NotImplementedError

    async def next(self, *, timeout_s: float | None = None) -> WatchBatch | None:
        """As iterating, but None after `timeout_s` without events. `timeout_s=0` takes only what is pending."""
        raise NotImplementedError

    async def aclose(self) -> None:
        """End the watch. Closing twice is fine."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class Store:
    """A versioned key-value store. Made by `open_store`.

    Reads without `at` are linearizable: they see every write acknowledged, by any process, before the
    call began. `consistent=False` reads what this process has applied, without asking the database.
    Reads at a revision raise `Compacted` or `RevisionInFuture`.
    """

    # --- reading

    async def get(self, key: bytes, *, at: Revision | None = None, consistent: bool = True) -> KeyValue | None:
        """The key's version at a revision, or None."""
        raise NotImplementedError

    async def range(
        self,
        key_range: KeyRange,
        *,
        at: Revision | None = None,
        limit: int | None = None,
        keys_only: bool = False,
        consistent: bool = True,
    ) -> RangeResult:
        """A snapshot of the range in key order, at most `limit` items."""
        raise NotImplementedError

    async def count(
        self, key_range: KeyRange, *, at: Revision | None = None, consistent: bool = True
    ) -> CountResult:
        """How many keys the range holds."""
        raise NotImplementedError

    async def current_revision(self) -> Revision:
        """The current revision; every write acknowledged before the call is at or below it."""
        raise NotImplementedError

    @property
    def applied_revision(self) -> Revision:
        """The revision that this process has applied: a lower bound of the current one, free of charge."""
        raise NotImplementedError

    @property
    def compact_revision(self) -> Revision:
        """The oldest readable revision as far as this process knows."""
        raise NotImplementedError

    async def wait_for(self, revision: Revision, *, timeout_s: float) -> Revision:
        """Wait until this process has applied `revision`; returns the applied one.

        Raises `RevisionInFuture` when the store has not got there in `timeout_s`.
        """
        raise NotImplementedError

    # --- writing

    async def create(
        self, key: bytes, value: bytes, *, lease: int | None = None, actor: str | None = None
    ) -> KeyValue:
        """Write a key that must not exist. Raises `KeyExists`."""
        raise NotImplementedError

    async def update(
        self,
        key: bytes,
        value: bytes,
        *,
        expect: Revision | None = None,
        lease: int | None = None,
        actor: str | None = None,
    ) -> KeyValue:
        """Write a key that must exist, and be at `expect` if given. Raises `KeyNotFound`, `RevisionConflict`."""
        raise NotImplementedError

    async def put(
        self, key: bytes, value: bytes, *, lease: int | None = None, actor: str | None = None
    ) -> KeyValue:
        """Write a key whether it exists or not."""
        raise NotImplementedError

    async def delete(
        self, key: bytes, *, expect: Revision | None = None, actor: str | None = None
    ) -> DeleteResult:
        """Delete a key that must exist, and be at `expect` if given. Raises `KeyNotFound`, `RevisionConflict`."""
        raise NotImplementedError

    async def txn(self, txn: Txn, *, actor: str | None = None) -> TxnResult:
        """Evaluate a transaction; all its writes share one revision."""
        raise NotImplementedError

    # --- watching

    def watch(
        self, key_range: KeyRange, *, start: Revision | None = None
    ) -> Watch:
        """Every event of the range with revision >= `start`, in order, once; from now on without `start`.

        The subscription stands when this returns: with `start=None` it holds every event after
        `applied_revision`. A `start` beyond the current revision is silent until it is reached.
        Errors come from the iteration.
        """
        raise NotImplementedError

    # --- leases

    async def grant_lease(self, ttl_s: int, *, lease: int | None = None) -> Lease:
        """Grant a lease, with the given id or a random one. Raises `LeaseExists`."""
        raise NotImplementedError

    async def keep_lease_alive(self, lease: int) -> Lease:
        """Start the lease's time anew. Raises `LeaseNotFound`, also when it has expired and its keys still stand."""
        raise NotImplementedError

    async def revoke_lease(self, lease: int) -> Revision:
        """Delete the lease and, in one revision, its keys. Raises `LeaseNotFound`."""
        raise NotImplementedError

    async def lease_status(self, lease: int) -> LeaseStatus:
        """The lease now. Raises `LeaseNotFound`."""
        raise NotImplementedError

    async def leases(self) -> list[int]:
        """The ids of all leases, in order."""
        raise NotImplementedError

    # --- upkeep

    async def compact(self, to: Revision | None = None) -> Revision:
        """Give up history before `to` (None: the current revision) and delete it; returns the compact revision.

        Raises `Compacted` for one already below the floor, `RevisionInFuture`.
        """
        raise NotImplementedError

    async def status(self) -> StoreStatus:
        """Figures of the store."""
        raise NotImplementedError

    async def close(self) -> None:
        """End all watches, finish the running batch, refuse what waits, close the database. Twice is fine."""
        raise NotImplementedError
