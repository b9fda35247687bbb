"""A few connections of one kind, opened when they are needed first."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from kinepy.drivers.lasting import to_the_end
from kinepy.errors import StorageUnavailable, StoreClosed

C = TypeVar("C")


class Pool(Generic[C]):
    """At most `size` connections. One that is not `usable` any more is closed instead of being used again."""

    def __init__(
        self,
        open_one: Callable[[], Awaitable[C]],
        close_one: Callable[[C], Awaitable[None]],
        *,
        usable: Callable[[C], bool],
        size: int,
        wait_s: float,
    ) -> None:
        self._open_one, self._close_one, self._usable = open_one, close_one, usable
        self._free = asyncio.Semaphore(size)
        self._idle: list[C] = []
        self._wait_s = wait_s
        self._closed = False

    @asynccontextmanager
    async def take(self) -> AsyncIterator[C]:
        """Borrow a connection. Raises `StorageUnavailable` when none is free in time."""
        await self._wait_for_turn()
        try:
            connection = await self._one()
            try:
                yield connection
            finally:
                if self._closed or not self._usable(connection):
                    await to_the_end(self._dispose(connection))
                else:
                    self._idle.append(connection)
        finally:
            self._free.release()

    async def close(self) -> None:
        """Close what is idle now and what is borrowed when it comes back."""
        self._closed = True
        while self._idle:
            await self._close_one(self._idle.pop())

    async def _wait_for_turn(self) -> None:
        if self._closed:
            raise StoreClosed
        if not self._free.locked():
            await self._free.acquire()
            return
        try:
            async with asyncio.timeout(self._wait_s):
                await self._free.acquire()
        except TimeoutError:
            raise StorageUnavailable(f"no connection became free in {self._wait_s:g} s") from None

    async def _one(self) -> C:
        if self._closed:
            raise StoreClosed
        while self._idle:
            connection = self._idle.pop()
            if self._usable(connection):
                return connection
            await to_the_end(self._dispose(connection))
        return await self._open_one()

    async def _dispose(self, connection: C) -> None:
        await self._close_one(connection)
