"""Following the APIServices: every process proxies what is stored, whoever stored it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from kinepy import Event, EventType, KeyRange, KeyValue
from kinepy.errors import Compacted, StorageUnavailable, StoreClosed
from kinepy_server.aggregation.apiservice import PREFIX, ApiService, read
from kinepy_server.aggregation.priorities import own_priority
from kinepy_server.aggregation.state import Published
from kinepy_server.context import Context
from kinepy_server.controllers.feed import Feed
from kinepy_server.lasting import in_background

if TYPE_CHECKING:
    from kinepy_server.aggregation.discovering import Discoverer

_log = logging.getLogger("kinepy.aggregation")
API_SERVICES = KeyRange.prefix(PREFIX)
_PAUSE_S = 0.5


@asynccontextmanager
async def following_api_services(context: Context) -> AsyncIterator[None]:
    """Keep the context's state in step while the block runs; it knows all that is stored when the block begins."""
    keeper = _Keeper(context)
    begun = asyncio.get_running_loop().create_future()
    task = in_background(_follow(context, keeper, begun), name="following APIServices")
    try:
        await asyncio.wait((begun, task), return_when=asyncio.FIRST_COMPLETED)
        if not begun.done():
            task.result()
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await keeper.close()


async def _follow(context: Context, keeper: "_Keeper", begun: "asyncio.Future[None]") -> None:
    while True:
        try:
            async with Feed(context.store, API_SERVICES) as feed:
                keeper.replace([kv async for page in feed.existing() for kv in page])
                if not begun.done():
                    begun.set_result(None)
                while True:
                    keeper.apply(await feed.changes())
        except StoreClosed:
            return
        except (Compacted, StorageUnavailable) as error:
            if not begun.done():
                raise
            _log.warning("APIServices cannot be followed for the moment: %s", error)
            await asyncio.sleep(_PAUSE_S)


class _Keeper:
    """Knows the APIServices, and tells the context's state what they mean."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: dict[bytes, ApiService] = {}
        self._discoverer: Discoverer | None = None

    def replace(self, kvs: Iterable[KeyValue]) -> None:
        """All that there are."""
        self._known = {kv.key: read(kv) for kv in kvs}
        self._changed()

    def apply(self, events: Iterable[Event]) -> None:
        """Changes."""
        changed = False
        for event in events:
            known = self._known.get(event.kv.key)
            if known is not None and known.revision >= event.kv.mod_revision:
                continue
            changed = True
            if event.type is EventType.PUT:
                self._known[event.kv.key] = read(event.kv)
            else:
                self._known.pop(event.kv.key, None)
        if changed:
            self._changed()

    async def close(self) -> None:
        """Let backends go."""
        state = self._context.aggregation
        state.remote, state.published = {}, None
        if self._discoverer is not None:
            await self._discoverer.close()
        if state.proxy is not None:
            state.proxy.transport.close()

    def _changed(self) -> None:
        state = self._context.aggregation
        remote = {one.group_version: one for one in self._known.values() if one.service is not None}
        if remote or self._discoverer is not None:
            if self._discoverer is None:
                self._discoverer = self._begin()
            self._discoverer.look_at(remote.values())
        state.remote = remote
        self._publish()

    def _begin(self) -> "Discoverer":
        # Most servers have no servers behind them.
        from kinepy_server.aggregation.discovering import Discoverer
        from kinepy_server.aggregation.proxy import Proxy
        from kinepy_server.aggregation.resolver import Resolver
        from kinepy_server.aggregation.transport import Transport

        context = self._context
        resolver = Resolver(context.store, clock=context.clock, random=context.random)
        context.aggregation.proxy = Proxy(Transport(context.aggregation.identity), resolver, context.settings)
        context.aggregation.begun.set()
        return Discoverer(context.aggregation.proxy, self._publish)

    def _publish(self) -> None:
        priorities = {
            one.group_version: (one.group_priority, one.version_priority)
            for one in self._known.values()
            if (one.group_priority, one.version_priority) != own_priority(one.group, one.version)
        }
        state, found = self._context.aggregation, self._discoverer
        if not state.remote and not priorities:
            state.published = None
            return
        state.published = Published(
            tuple(state.remote.values()),
            priorities,
            dict(found.documents) if found is not None else {},
            dict(found.openapi) if found is not None else {},
        )
