"""The linearizable read: one look at the database's revision, shared by all reads that arrived before it.

A read that arrives while a look is under way must wait for the next one: the running look may have been
answered before a write that was acknowledged before the read began.
"""

import asyncio

from kinepy.errors import KinepyError, StoreClosed
from kinepy.log.continuity import Continuity
from kinepy.log.metrics import StoreMetrics
from kinepy.revision import Revision


class Barrier:
    """The shared look, and the task that does it."""

    def __init__(self, continuity: Continuity, metrics: StoreMetrics) -> None:
        self._continuity, self._metrics = continuity, metrics
        self._next: asyncio.Future[Revision] | None = None
        self._idle: asyncio.Future[None] | None = None
        self._closed = False

    def current(self) -> "asyncio.Future[Revision]":
        """The current revision, looked up after this call. Shield it: others wait for it too."""
        if self._closed:
            raise StoreClosed
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
            if self._idle is not None and not self._idle.done():
                self._idle.set_result(None)
        return self._next

    async def run(self) -> None:
        """Look whenever somebody asks, until closed."""
        while not self._closed:
            if self._next is None:
                self._idle = asyncio.get_running_loop().create_future()
                await self._idle
            # Readers that were just answered get to share the next look.
            await asyncio.sleep(0)
            asked, self._next = self._next, None
            if asked is None:
                continue
            try:
                revision = await self._continuity.current()
            except KinepyError as error:
                self._metrics.failed("current")
                _refuse(asked, error)
            else:
                asked.set_result(revision)
            finally:
                # Cancelled while looking: nobody will look for these readers any more.
                if not asked.done():
                    _refuse(asked, StoreClosed())

    def close(self) -> None:
        """Refuse reads that wait for their look."""
        self._closed = True
        if self._next is not None:
            _refuse(self._next, StoreClosed())
            self._next = None
        if self._idle is not None and not self._idle.done():
            self._idle.set_result(None)


def _refuse(asked: "asyncio.Future[Revision]", error: KinepyError) -> None:
    asked.set_exception(error)
    # Nobody may be waiting any more.
    asked.exception()
