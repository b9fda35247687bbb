"""Waiting for what other processes do, without a guess how long they take."""

import asyncio
import time
from collections.abc import Awaitable, Callable

PATIENCE_S = 20.0
_PAUSE_S = 0.02


def until(is_so: Callable[[], bool]) -> None:
    """Ask again and again until it is so; fails when it is not after `PATIENCE_S`."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline, "it did not come to be"
        time.sleep(_PAUSE_S)


async def soon(is_so: Callable[[], Awaitable[bool]]) -> None:
    """The same, for what is asked asynchronously."""
    async with asyncio.timeout(PATIENCE_S):
        while not await is_so():  # noqa: ASYNC110 nothing tells when
            await asyncio.sleep(_PAUSE_S)
