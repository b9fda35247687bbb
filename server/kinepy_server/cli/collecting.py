"""The garbage collector of a server. What start-up makes stays until the end, so looking at it is in vain."""

import gc
from typing import Final

_USUAL: Final = gc.get_threshold()
_STARTING: Final = (100_000, 50, 100)
"""Not never: a start may have to wait for its database."""


def collect_rarely() -> None:
    """While the server starts."""
    gc.set_threshold(*_STARTING)


def collect_as_usual() -> None:
    """The server has started: what is there now is looked at once more, and never again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_USUAL)
