"""Asking the host again where it failed for a moment."""

from collections.abc import Mapping
from random import Random
from typing import Any, Final

from kinepy.clock import Clock
from kinepy_server.auth.delegated.host import Host, HostError

TRIES: Final = 5
FIRST_PAUSE_S: Final = 0.5
LONGER: Final = 1.5
SPREAD: Final = 0.2


async def persistently(
    host: Host, path: str, body: Mapping[str, Any], *, clock: Clock, random: Random
) -> Any:
    """The answer to an object that is posted. Raises `HostError` when it fails for good, or too often."""
    pause_s = FIRST_PAUSE_S
    for left in reversed(range(TRIES)):
        try:
            return await host.create(path, body)
        except HostError as error:
            if not error.transient or not left:
                raise
        await clock.sleep(pause_s * (1 + SPREAD * random.random()))
        pause_s *= LONGER
    raise AssertionError("the last try returns or raises")
