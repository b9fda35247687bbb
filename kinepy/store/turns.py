"""Turns at one key, for callers that change it again when another was first.

Callers of one process that lose against each other would all read, decide and lose again, all but one. So they
stand in line, and only the first of the line tries. This only saves work: who wins is decided by the store, and
nothing depends on it.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from kinepy.revision import Revision
from kinepy.store.rivals import Rivals

HELD_MAX_S: Final = 5.0
"""Whoever is not done by then goes on, but no longer keeps the next one waiting."""


class Turn:
    """The right to try, of one caller. `held` until it was passed on; `waited` if others of the process came before."""

    __slots__ = ("_key", "_preferred", "_rivals", "held", "waited")

    def __init__(self, key: bytes, rivals: Rivals, *, waited: bool) -> None:
        self._key, self._rivals, self.waited = key, rivals, waited
        self.held = True
        self._preferred = False

    async def begin(self) -> None:
        """Wait until it is this process' turn too, where others compete for the key."""
        self._preferred = await self._rivals.begin(self._key)

    def end(self) -> None:
        """The try is over."""
        if self._preferred:
            self._preferred = False
            self._rivals.end()

    async def lost(self, revision: Revision) -> None:
        """A try has met this version of the key, which it did not know: wait until the next may begin."""
        self._rivals.met(self._key, revision)
        if not self._preferred:
            await self.begin()


class Turns:
    """The lines of one store. For one event loop."""

    def __init__(self, rivals: Rivals) -> None:
        self._rivals = rivals
        self._lines: dict[bytes, deque[asyncio.Future[None]]] = {}
        """Who waits for a key, in the order in which they came; there is one as long as somebody has the turn."""

    def is_taken(self, key: bytes) -> bool:
        """Whether somebody has the key's turn."""
        return key in self._lines

    @asynccontextmanager
    async def take(self, key: bytes) -> AsyncIterator[Turn]:
        """Wait for those who came before, then have the key's turn inside the block, for `HELD_MAX_S` at most."""
        line = self._lines.get(key)
        if line is None:
            self._lines[key] = deque()
        else:
            await self._wait(key, line)
        turn = Turn(key, self._rivals, waited=line is not None)
        limit = asyncio.get_running_loop().call_later(HELD_MAX_S, self._pass_on, key, turn)
        try:
            if self._rivals:
                await turn.begin()
            yield turn
        finally:
            limit.cancel()
            turn.end()
            self._pass_on(key, turn)

    async def _wait(self, key: bytes, line: "deque[asyncio.Future[None]]") -> None:
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():
                # It was let in at the same moment.
                self._let_next_in(key)
            raise

    def _pass_on(self, key: bytes, turn: Turn) -> None:
        if turn.held:
            turn.held = False
            self._let_next_in(key)

    def _let_next_in(self, key: bytes) -> None:
        line = self._lines[key]
        while line:
            first = line.popleft()
            if not first.done():
                first.set_result(None)
                return
        del self._lines[key]
