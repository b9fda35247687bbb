"""Following the definitions: every process serves what is defined, whoever defined it (CRD-5)."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kinepy import KeyRange, Store, Watch
from kinepy.errors import Compacted, StorageUnavailable, StoreClosed, WatchOverflow
from kinepy_server.context import Context
from kinepy_server.custom.definition import PREFIX, definition_key
from kinepy_server.custom.establishing import Establisher
from kinepy_server.custom.serving import Serving
from kinepy_server.lasting import in_background
from kinepy_server.paging import every_page

_log = logging.getLogger("kinepy.custom")
DEFINITIONS = KeyRange.prefix(PREFIX)
_PAGE_KEYS = 100
_PAUSE_S = 0.5


@asynccontextmanager
async def following_definitions(context: Context) -> AsyncIterator[Serving]:
    """Serve custom resources while the block runs; all that are defined when it begins are served then."""
    follower = Follower(context)
    await follower.open()
    context.catch_up = follower.catch_up
    tasks = [
        in_background(follower.run(), name="definitions"),
        in_background(follower.establisher.run(), name="establishing of definitions"),
    ]
    try:
        yield follower.serving
    finally:
        context.catch_up = None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await follower.close()


class Follower:
    """Keeps `serving` in step."""

    def __init__(self, context: Context) -> None:
        self._store: Store = context.store
        self.serving = Serving(context)
        self.establisher = Establisher(context, self.serving)
        self._watch: Watch | None = None

    async def open(self) -> None:
        """Watch, then read what there is."""
        await self.close()
        self._watch = self._store.watch(DEFINITIONS)
        keys = set[bytes]()
        async for page in every_page(self._store, DEFINITIONS, page_keys=_PAGE_KEYS):
            keys.update(kv.key for kv in page)
            self.establisher.look_at(self.serving.note(page))
        self.establisher.look_at(self.serving.keep_only(keys))

    async def close(self) -> None:
        """End the watch."""
        if self._watch is not None:
            await self._watch.aclose()

    async def run(self) -> None:
        """Follow until cancelled, or until the store closes."""
        assert self._watch is not None
        while True:
            try:
                batch = await self._watch.next()
                if batch is not None:
                    self.establisher.look_at(self.serving.apply(batch.events))
            except StoreClosed:
                return
            except WatchOverflow as overflow:
                await self._watch.aclose()
                self._watch = self._store.watch(DEFINITIONS, start=overflow.resume)
            except Compacted:
                await self.open()
            except StorageUnavailable as error:
                _log.warning("definitions cannot be followed for the moment: %s", error)
                await asyncio.sleep(_PAUSE_S)

    async def catch_up(self, group: str, plural: str) -> None:
        """Learn of what another process may just have defined in a group."""
        if plural:
            kv = await self._store.get(definition_key(group, plural))
            found = [kv] if kv is not None else []
        else:
            keys = await self._store.range(DEFINITIONS, keys_only=True)
            ending = f".{group}".encode()
            named = [item.key for item in keys.items if item.key.endswith(ending)]
            found = [kv for key in named if (kv := await self._store.get(key)) is not None]
        self.establisher.look_at(self.serving.note(found))
