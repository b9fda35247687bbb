"""Waiting for what other processes do, without a guess how long they take."""

import time
from collections.abc import Callable

PATIENCE_S = 20.0
_PAUSE_S = 0.02


def until(is_so: Callable[[], bool]) -> None:
    """Ask again and again until it is so; fails when it is not after `PATIENCE_S`."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline, "it did not come to be"
        time.sleep(_PAUSE_S)
