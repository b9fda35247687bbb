"""The garbage collector's loop: follow everything, look at what has changed, try again what failed.

One feed follows all objects of all types, also of types that appear later, in one order. So when an owner
is seen to wait for its dependents, all that were there before it began to wait are known.
"""

import asyncio
import logging
from collections.abc import Iterable

from kinepy import Event, EventType, KeyRange
from kinepy.errors import KinepyError, StoreClosed
from kinepy_server.context import Context
from kinepy_server.controllers.feed import Feed
from kinepy_server.controllers.garbage.actions import AT_ONCE, NAME, Actions, Unserved
from kinepy_server.controllers.garbage.graph import Graph
from kinepy_server.controllers.places import Places
from kinepy_server.controllers.retries import Retries
from kinepy_server.errors import StatusError

_log = logging.getLogger("kinepy.controllers")

EVERYTHING = KeyRange.prefix(b"/registry/")
LOOK_S = 5.0
"""So often a collector that has nothing to do looks whether other types are served."""


async def collect_garbage(context: Context) -> None:
    """Delete what lost its owners, and let waiting owners go; runs until cancelled."""
    collector = _Collector(context)
    async with Feed(context.store, EVERYTHING) as feed:
        async for page in feed.existing():
            for kv in page:
                collector.add(collector.graph.note(kv))
        collector.apply(await feed.changes(timeout_s=0))
        while True:
            await collector.work()
            collector.apply(await feed.changes(timeout_s=collector.wait_s()))


class _Collector:
    """What is known, and what is to be looked at."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.graph = Graph()
        self._places = Places(context)
        self._actions = Actions(context, self.graph, self._places)
        self._queue: dict[bytes, None] = {}
        self._retries = Retries()
        self._unserved: set[bytes] = set()

    def add(self, keys: Iterable[bytes]) -> None:
        """Objects that are to be looked at."""
        self._queue.update(dict.fromkeys(keys))

    def apply(self, events: Iterable[Event]) -> None:
        """What has changed."""
        for event in events:
            if event.type is EventType.PUT:
                self.add(self.graph.note(event.kv))
            else:
                self._retries.done(event.kv.key)
                self._unserved.discard(event.kv.key)
                self.add(self.graph.forget(event.kv.key, event.previous.value if event.previous else b""))

    def wait_s(self) -> float:
        """How long there is nothing to do unless something changes."""
        if self._queue:
            return 0
        due = self._retries.wait_s(now=self._context.clock.monotonic())
        return LOOK_S if due is None else min(due, LOOK_S)

    async def work(self) -> None:
        """Look at some of the objects."""
        if self._places.renewed():
            self.add(sorted(self._unserved))
            self._unserved.clear()
        self.add(self._retries.take(now=self._context.clock.monotonic()))
        keys = list(self._queue)[:AT_ONCE]
        for key in keys:
            del self._queue[key]
        await asyncio.gather(*map(self._look_at, keys))
        self._context.controllers.pending[NAME] = len(self._queue) + len(self._retries) + len(self._unserved)

    async def _look_at(self, key: bytes) -> None:
        try:
            await self._actions.look_at(key)
        except Unserved:
            self._unserved.add(key)
        except StoreClosed:
            raise
        except (StatusError, KinepyError) as error:
            self._failed(key, error)
            return
        except Exception:
            # One object that nobody thought of must not keep the others.
            _log.exception("the garbage collector cannot deal with %r", key)
            self._failed(key, None)
            return
        self._retries.done(key)

    def _failed(self, key: bytes, error: Exception | None) -> None:
        self._retries.again(key, now=self._context.clock.monotonic())
        # 409: the object has changed since it was looked at.
        if isinstance(error, StatusError) and error.code == 409:
            return
        self._context.controllers.failed(NAME)
        if error is not None:
            _log.warning("the garbage collector will look at %r again: %s", key, error)
