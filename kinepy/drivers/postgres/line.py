"""A connection that comes back: what a pool holds of a server that may be restarted."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import asyncpg

from kinepy.drivers.postgres.connection import disconnect
from kinepy.drivers.postgres.errors import DATABASE_ERRORS, ends_session, translate, translated
from kinepy.errors import StoreClosed

T = TypeVar("T")


class Line:
    """At most one connection, made when it is needed and made anew when it was lost."""

    def __init__(self, connect: Callable[[], Awaitable[asyncpg.Connection]]) -> None:
        self._connect = connect
        self._connection: asyncpg.Connection | None = None
        self._abandoned = False

    async def begin(self, work: Callable[[asyncpg.Connection], Awaitable[T]]) -> T:
        """Run the first work of a transaction. It runs once more if the connection turned out to be lost meanwhile:
        so far nothing can have been done with it. Raises the library's errors."""
        kept = self._connection
        if kept is not None and not kept.is_closed():
            try:
                return await work(kept)
            except DATABASE_ERRORS as error:
                if not ends_session(error):
                    raise translate(error) from error
                kept.terminate()
        if self._abandoned:
            raise StoreClosed
        self._connection = fresh = await self._connect()
        with translated():
            return await work(fresh)

    @property
    def usable(self) -> bool:
        """Whether the next user finds no transaction open."""
        connection = self._connection
        return connection is None or connection.is_closed() or not connection.is_in_transaction()

    async def close(self) -> None:
        """Close the connection, if there is one."""
        if self._connection is not None:
            await disconnect(self._connection)

    def abandon(self) -> None:
        """Break the connection off, whatever is under way on it, and make no other."""
        self._abandoned = True
        if self._connection is not None:
            self._connection.terminate()
