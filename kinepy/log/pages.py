"""How many rows to read at once, so that memory stays bounded whatever their size."""

from collections.abc import Iterable
from typing import Final

from kinepy.records import Event

ROWS_FIRST: Final = 16
ROWS_MAX: Final = 128
"""So many of the largest values are 384 MiB: what the first page of them may take, after pages of small ones.
Callers for whom small ones should take few pages give a larger bound."""

BYTES_AIM: Final = 4 * 1024 * 1024
_GROWTH_MAX: Final = 4


class PageSize:
    """Aims at pages of `BYTES_AIM`, going by the page before."""

    __slots__ = ("_rows_max", "rows")

    def __init__(self, *, rows_max: int = ROWS_MAX) -> None:
        self.rows, self._rows_max = min(ROWS_FIRST, rows_max), rows_max

    def saw(self, rows: int, size_bytes: int) -> None:
        """A page of so many rows had this size."""
        if rows:
            fitting = BYTES_AIM * rows // max(size_bytes, 1)
            self.rows = max(1, min(self._rows_max, fitting, self.rows * _GROWTH_MAX))


def size_of(events: Iterable[Event]) -> int:
    """What the values of events take, with those before them."""
    return sum(
        len(event.kv.value) + (0 if event.previous is None else len(event.previous.value)) for event in events
    )
