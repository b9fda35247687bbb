"""The seam to a kine database, which is only read."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class KineRow(NamedTuple):
    """One row of kine's table. `lease` is a time to live in seconds; `create_revision` is 0 on the creating row."""

    id: int
    name: str
    created: int
    create_revision: int
    prev_revision: int
    lease: int
    value: bytes | None


class KineSnapshot(Protocol):
    """One snapshot of a kine database."""

    async def current(self) -> tuple[int, int]:
        """The newest id of any row, 0 when there is none, and how many rows there are."""
        ...

    async def live(self, *, after: int, limit: int) -> Sequence[KineRow]:
        """The rows of live keys with id > after, by id."""
        ...
