"""All objects of a range, a page at a time, for work that is no client's list."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from kinepy import KeyRange, KeyValue, Store

PAGE_KEYS = 500
PAGE_BYTES = 4 * 1024 * 1024


async def every_page(
    store: Store, key_range: KeyRange, *, page_keys: int = PAGE_KEYS, keys_only: bool = False
) -> AsyncIterator[Sequence[KeyValue]]:
    """What there is, in key order; no page is empty, and each is as new as when it is read."""
    left = key_range
    while True:
        page = await store.range(left, limit=page_keys, bytes_max=PAGE_BYTES, keys_only=keys_only)
        if page.items:
            yield page.items
        if not page.more or not page.items:
            return
        left = left.after(page.items[-1].key)
        # Others get a turn: a large store takes a while.
        await asyncio.sleep(0)
