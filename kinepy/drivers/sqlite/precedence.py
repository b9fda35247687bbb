"""The right to go first among the processes that compete for keys of one SQLite file: a lock beside it."""

import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from kinepy.clock import Clock
from kinepy.errors import StorageUnavailable

WAIT_S: Final = 2.0
LOOK_S: Final = 0.002
LET_OTHERS_S: Final = 3 * LOOK_S
"""Who has just given it back comes after those who look for it meanwhile."""


@asynccontextmanager
async def have_precedence(path: str, clock: Clock) -> AsyncIterator[bool]:
    """Have the lock of a file, or not within `WAIT_S`. It dies with the process. Raises `StorageUnavailable`."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StorageUnavailable(f"the file of precedence cannot be opened ({error})") from error
    try:
        had = await _take(descriptor, clock)
        yield had
    finally:
        os.close(descriptor)
    await clock.sleep(LET_OTHERS_S)


async def _take(descriptor: int, clock: Clock) -> bool:
    give_up = clock.monotonic() + WAIT_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if clock.monotonic() >= give_up:
                return False
            await clock.sleep(LOOK_S)
        except OSError as error:
            raise StorageUnavailable(f"the file of precedence cannot be locked ({error})") from error
        else:
            return True
