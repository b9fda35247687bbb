"""The rows that every database begins with."""

from typing import Any

from sqlalchemy.sql.dml import UpdateBase

from kinepy.revision import FIRST_REVISION
from kinepy.sql.writes import Upserts


def seed_rows(upserts: Upserts, *, store_id: str, now_us: int) -> list[tuple[UpdateBase, tuple[Any, ...]]]:
    """Statements, with their parameters in order, that put the first rows in unless they are there."""
    return [
        (upserts.seed_store, (1, store_id, now_us)),
        (upserts.seed_epoch, (1, FIRST_REVISION, "created", now_us)),
    ]
