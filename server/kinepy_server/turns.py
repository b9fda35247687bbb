"""Taking turns at one key.

Writers of one process that lose against each other would all decide anew and lose again, all but one. Those
that have lost once stand in line instead. This only saves work: who wins is decided by the store.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turns:
    """A line for each key that somebody waits for."""

    def __init__(self) -> None:
        self._lines: dict[bytes, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def take(self, key: bytes) -> AsyncIterator[None]:
        """Wait for the others in line, then hold the key's turn inside the block."""
        lock, waiting = self._lines.get(key) or (asyncio.Lock(), 0)
        self._lines[key] = lock, waiting + 1
        try:
            async with lock:
                yield
        finally:
            lock, waiting = self._lines[key]
            if waiting == 1:
                del self._lines[key]
            else:
                self._lines[key] = lock, waiting - 1
