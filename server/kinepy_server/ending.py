"""Ending streams from outside: all that follow what has changed, or is gone."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Ending:
    """Comes once; who waits then waits no longer."""

    __slots__ = ("_waiting", "come")

    def __init__(self) -> None:
        self.come = False
        self._waiting: set[asyncio.Timeout] = set()

    def end(self) -> None:
        """It has come."""
        self.come = True
        for scope in tuple(self._waiting):
            if not scope.expired():
                scope.reschedule(asyncio.get_running_loop().time())

    @contextmanager
    def ends(self, scope: asyncio.Timeout) -> Iterator[None]:
        """While the block runs, the end makes the scope expire."""
        self._waiting.add(scope)
        try:
            yield
        finally:
            self._waiting.discard(scope)
