"""One process acts, the others wait: leadership by a key whose lease its process keeps alive.

A leader that dies stops keeping its lease alive; the store then deletes the key, and another process takes
it. A leader that cannot reach the database stops by itself before the lease ends. Both go by clocks, so a
controller's actions must do no harm even when two processes act at once: leadership keeps them from doing
the same work twice.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from kinepy import KeyRange, Store
from kinepy.errors import (
    KeyExists,
    KinepyError,
    LeaseNotFound,
    Overloaded,
    StorageUnavailable,
    StoreClosed,
    WriteOutcomeUnknown,
)

_log = logging.getLogger("kinepy.controllers")

LEASE_TTL_S = 6
RENEW_S = 2.0
MARGIN_S = 1.0
"""So long before its lease ends a leader that could not renew it stops acting."""
RETRY_S = 0.2
RELEASE_TIMEOUT_S = 2.0
PREFIX = b"/kinepy/leaders/"
_PASSING = (StorageUnavailable, WriteOutcomeUnknown, Overloaded)


class _Lease:
    """A lease that is kept alive until it is dropped, or is `lost`."""

    def __init__(self, store: Store, lease: int, *, granted_at: float) -> None:
        self.id, self.users = lease, 0
        self.lost = asyncio.Event()
        self._store = store
        self._ends = granted_at + LEASE_TTL_S - MARGIN_S
        self._keeper = asyncio.create_task(self._keep())

    async def _keep(self) -> None:
        try:
            while True:
                await asyncio.sleep(RENEW_S)
                async with asyncio.timeout_at(self._ends):
                    begun = await self._renew()
                self._ends = begun + LEASE_TTL_S - MARGIN_S
        except (LeaseNotFound, TimeoutError) as error:
            _log.warning("this process gives up its controllers, as it could not renew its lease: %r", error)
        except StoreClosed:
            return
        finally:
            self.lost.set()

    async def _renew(self) -> float:
        """Returns when the renewal that succeeded was begun."""
        loop = asyncio.get_running_loop()
        while True:
            begun = loop.time()
            try:
                await self._store.keep_lease_alive(self.id)
                return begun
            except _PASSING:
                await asyncio.sleep(RETRY_S)

    async def drop(self) -> None:
        """End the lease; the keys that it holds go at once, unless the database cannot be reached."""
        self._keeper.cancel()
        with suppress(KinepyError, TimeoutError):
            async with asyncio.timeout(RELEASE_TIMEOUT_S):
                await self._store.revoke_lease(self.id)


class Candidate:
    """One process: it may lead under many names, all by one lease, which it has only while it needs it."""

    def __init__(self, store: Store, *, name: str) -> None:
        """`name` tells operators which process leads; it need not be unique."""
        self._store, self._name = store, name.encode()
        self._granting = asyncio.Lock()
        self._lease: _Lease | None = None

    async def lead(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Wait until this process leads under `name`, then run `work` as long as it does.

        `work` is cancelled when leadership is lost. Returns when that happens or `work` returns; raises what
        `work` raises, and then others may lead.
        """
        key = PREFIX + name.encode()
        lease = await self._claim(key)
        _log.info("this process now acts as %s", name)
        cancelled = False
        try:
            await self._work_while_ours(key, lease, work)
        except asyncio.CancelledError:
            # Who is cancelled goes with `close`, which ends all leadership in one write.
            cancelled = True
            raise
        finally:
            if not cancelled and not lease.lost.is_set():
                await self._resign(key, lease)

    async def close(self) -> None:
        """Give up all leadership at once, so that others need not wait for the lease's end."""
        lease, self._lease = self._lease, None
        if lease is not None:
            await lease.drop()

    async def _claim(self, key: bytes) -> _Lease:
        async with self._store.watch(KeyRange.single(key)) as watch:
            while True:
                if await self._store.get(key) is None:
                    lease = await self._use()
                    try:
                        await self._store.create(key, self._name, lease=lease.id)
                        return lease
                    except (KeyExists, LeaseNotFound):
                        await self._leave(lease)
                    except BaseException:
                        await self._leave(lease)
                        raise
                await watch.next(timeout_s=LEASE_TTL_S)

    async def _work_while_ours(self, key: bytes, lease: _Lease, work: Callable[[], Awaitable[None]]) -> None:
        working = asyncio.ensure_future(work())
        tasks = (
            working,
            asyncio.create_task(self._until_taken(key, lease)),
            asyncio.create_task(lease.lost.wait()),
        )
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if not working.cancelled():
            working.result()

    async def _until_taken(self, key: bytes, lease: _Lease) -> None:
        """Returns when the key is not this process' any more."""
        async with self._store.watch(KeyRange.single(key)) as watch:
            while True:
                kv = await self._store.get(key, consistent=False)
                if kv is None or kv.lease != lease.id:
                    return
                await watch.next()

    async def _resign(self, key: bytes, lease: _Lease) -> None:
        with suppress(KinepyError):
            kv = await self._store.get(key)
            if kv is not None and kv.lease == lease.id:
                await self._store.delete(key, expect=kv.mod_revision)
        await self._leave(lease)

    async def _use(self) -> _Lease:
        """The process' lease, granted when there is none."""
        async with self._granting:
            if self._lease is None or self._lease.lost.is_set():
                begun = asyncio.get_running_loop().time()
                granted = await self._store.grant_lease(LEASE_TTL_S)
                self._lease = _Lease(self._store, granted.id, granted_at=begun)
            self._lease.users += 1
            return self._lease

    async def _leave(self, lease: _Lease) -> None:
        """A lease that nobody uses need not be kept alive."""
        lease.users -= 1
        if not lease.users and self._lease is lease:
            await self.close()
