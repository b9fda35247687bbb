"""What a kine's rows become.

Its ids become revisions, as they are. Ids that kine burnt, its own bookkeeping and its gap rows have no counterpart,
so that its history would have holes: the live state is taken, and history begins with the import.
"""

from collections.abc import Callable
from typing import Final

from kinepy.drivers.base import LeaseRow, LogRow
from kinepy.drivers.kine import KineRow, KineSnapshot
from kinepy.log.pages import PageSize
from kinepy.revision import Revision
from kinepy.transfer.exporting import Progress
from kinepy.transfer.loading import SECOND_US, Loader

BOOKKEEPING: Final = frozenset({"compact_rev_key", "compact_rev_key_apiserver"})
GAP: Final = "gap-"

Convert = Callable[[bytes, bytes], bytes]
"""From a key and its value to the value to store."""


def as_it_is(key: bytes, value: bytes) -> bytes:
    """The value itself."""
    return value


def is_data(row: KineRow) -> bool:
    """Whether a row is a key of kine's clients, not of kine itself."""
    return row.name not in BOOKKEEPING and not row.name.startswith(GAP) and row.name != ""


def row_of(row: KineRow, *, batch: int, now_us: int, convert: Convert = as_it_is) -> LogRow:
    """A live row. kine counts no versions: one that was changed since its creation gets 2."""
    key = row.name.encode()
    changed = not row.created and 0 < row.prev_revision < row.id
    return LogRow(
        revision=Revision(row.id),
        sub=0,
        key=key,
        value=convert(key, row.value or b""),
        create_revision=Revision(row.create_revision if changed and row.create_revision else row.id),
        version=2 if changed else 1,
        prev_revision=Revision(row.prev_revision if changed else 0),
        lease=row.id if row.lease > 0 else None,
        batch=batch,
        committed_at=now_us,
        actor=None,
    )


def lease_of(row: KineRow, *, now_us: int) -> LeaseRow | None:
    """The lease of a key's own that stands for kine's time to live, which begins with the import."""
    return LeaseRow(row.id, row.lease, now_us + row.lease * SECOND_US) if row.lease > 0 else None


async def load_kine(
    loader: Loader,
    kine: KineSnapshot,
    *,
    batch: int,
    now_us: int,
    convert: Convert = as_it_is,
    progress: Progress | None = None,
) -> Revision:
    """Load the live state of a kine; returns its revision."""
    current, total = await kine.current()
    after, pages = 0, PageSize()
    while page := await kine.live(after=after, limit=pages.rows):
        data = [row for row in page if is_data(row)]
        for row in data:
            if (lease := lease_of(row, now_us=now_us)) is not None:
                await loader.put_lease(lease)
        if data:
            await loader.put_rows([row_of(row, batch=batch, now_us=now_us, convert=convert) for row in data])
        after = page[-1].id
        pages.saw(len(page), sum(len(row.value or b"") + len(row.name) for row in page))
        if progress is not None:
            progress(loader.rows, total)
    return Revision(max(current, 1))
