"""How many rows to read at once, so that memory stays bounded whatever their size."""

from typing import Final

ROWS_FIRST: Final = 16
ROWS_MAX: Final = 128
"""So many of the largest values are 384 MiB: what the first page of them may take, after pages of small ones."""

BYTES_AIM: Final = 4 * 1024 * 1024
_GROWTH_MAX: Final = 4


class PageSize:
    """Aims at pages of `BYTES_AIM`, going by the page before."""

    def __init__(self) -> None:
        self.rows = ROWS_FIRST

    def saw(self, rows: int, size_bytes: int) -> None:
        """A page of so many rows had this size."""
        if rows:
            fitting = BYTES_AIM * rows // max(size_bytes, 1)
            self.rows = max(1, min(ROWS_MAX, fitting, self.rows * _GROWTH_MAX))
