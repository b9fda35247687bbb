"""Following the webhooks and policies: every process obeys what is stored, whoever stored it."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from kinepy import EventType, KeyRange, KeyValue, Store, Watch
from kinepy.errors import Compacted, StorageUnavailable, StoreClosed, WatchOverflow
from kinepy_server.dynamic_admission.extensions import PREFIXES, Extensions
from kinepy_server.lasting import in_background

if TYPE_CHECKING:
    from kinepy_server.dynamic_admission.configuration import Compiled

_log = logging.getLogger("kinepy.admission")
_PAUSE_S = 0.5
_AT_ONCE_BYTES = 16 * 1024
"""Configurations up to this size are compiled by the first write that asks them, in tens of milliseconds."""


@asynccontextmanager
async def following_extensions(store: Store, extensions: Extensions) -> AsyncIterator[None]:
    """Keep `extensions` in step while the block runs; it knows all that is stored when the block begins."""
    async with AsyncExitStack() as stack:
        state = _State(extensions)
        followers = [_Follower(store, KeyRange.prefix(prefix), state) for prefix in PREFIXES]
        for follower in followers:
            stack.push_async_callback(follower.close)
            await follower.open()
        tasks = [
            in_background(follower.run(), name=f"following of {prefix.decode()}")
            for prefix, follower in zip(PREFIXES, followers, strict=True)
        ]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await extensions.close()


class _State:
    """What all followers know together."""

    def __init__(self, extensions: Extensions) -> None:
        self._extensions = extensions
        self.objects: dict[bytes, KeyValue] = {}
        self._compiled: Compiled | None = None
        self._publishing = asyncio.Lock()

    async def publish(self) -> None:
        """Let writes see it. What is long is compiled in a thread before."""
        async with self._publishing:
            if not self.objects:
                self._extensions.configuration = self._compiled = None
                return
            # Most servers have neither webhooks nor policies, and should not wait for the language of these.
            from kinepy_server.cel.off_loop import elsewhere
            from kinepy_server.dynamic_admission.configuration import Compiled, Configuration

            if self._compiled is None:
                self._compiled = Compiled()
            objects = list(self.objects.values())
            configuration = Configuration(objects, self._compiled)
            if self._compiled.bytes_to_come(objects) > _AT_ONCE_BYTES:
                await elsewhere(configuration.compile)
            self._extensions.configuration = configuration


class _Follower:
    """Follows the objects of one resource."""

    def __init__(self, store: Store, keys: KeyRange, state: _State) -> None:
        self._store, self._keys, self._state = store, keys, state
        self._watch: Watch | None = None

    async def open(self) -> None:
        """Watch, then read what there is."""
        await self.close()
        self._watch = self._store.watch(self._keys)
        found = await self._store.range(self._keys)
        known = self._state.objects
        for key in [key for key in known if key.startswith(self._keys.start)]:
            del known[key]
        known.update((kv.key, kv) for kv in found.items)
        await self._state.publish()

    async def close(self) -> None:
        """End the watch."""
        if self._watch is not None:
            await self._watch.aclose()

    async def run(self) -> None:
        """Follow until cancelled, or until the store closes."""
        while True:
            assert self._watch is not None
            try:
                if not await self._step(self._watch):
                    return
            except StoreClosed:
                return
            except WatchOverflow as overflow:
                await self._watch.aclose()
                self._watch = self._store.watch(self._keys, start=overflow.resume)
            except Compacted:
                await self.open()
            except StorageUnavailable as error:
                _log.warning("webhooks and policies cannot be followed for the moment: %s", error)
                await asyncio.sleep(_PAUSE_S)

    async def _step(self, watch: Watch) -> bool:
        batch = await watch.next()
        if batch is None:
            return False
        known = self._state.objects
        for event in batch.events:
            before = known.get(event.kv.key)
            if before is not None and before.mod_revision >= event.kv.mod_revision:
                continue
            if event.type is EventType.PUT:
                known[event.kv.key] = event.kv
            else:
                known.pop(event.kv.key, None)
        if batch.events:
            await self._state.publish()
        return True
