"""Objects that every active namespace has: made when one appears, made again when they are deleted."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kinepy import Event, EventType, KeyRange, KeyValue
from kinepy.errors import KeyExists, StoreClosed
from kinepy_server.context import Context
from kinepy_server.controllers.changing import Edit, edit, writer
from kinepy_server.controllers.feed import Feed
from kinepy_server.controllers.places import Place
from kinepy_server.controllers.retries import Retries
from kinepy_server.errors import StatusError
from kinepy_server.objects.codec import decode
from kinepy_server.objects.namespaces import is_terminating, require_namespace
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.writes.guarded import create_guarded
from kinepy_server.writes.prepare import prepare_new


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What every active namespace is to have."""

    controller: str
    actor: str
    resource: Resource
    name: str
    make: Callable[[], JsonObject]
    """A new object, without its namespace."""
    correct: Edit | None = None
    """Puts right what somebody has changed."""


async def keep_in_namespaces(context: Context, wanted: Wanted) -> None:
    """Keep an object in every active namespace; runs until cancelled."""
    namespaces = context.registry.lookup("", "v1", "namespaces")
    assert namespaces is not None, "namespaces are always served"
    keeper = _Keeper(context, wanted)
    objects = KeyRange.prefix(wanted.resource.list_prefix(""))
    async with (
        Feed(context.store, KeyRange.prefix(namespaces.list_prefix(""))) as places,
        Feed(context.store, objects) as things,
    ):
        async for page in places.existing():
            keeper.note_namespaces(page)
        feeds = (_follow(places, keeper.namespaces_changed), _follow(things, keeper.objects_changed))
        tasks = [asyncio.create_task(one) for one in (*feeds, keeper.run())]
        try:
            for done in (await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED))[0]:
                done.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _follow(feed: Feed, tell: Callable[[Iterable[Event]], None]) -> None:
    while True:
        tell(await feed.changes())


class _Keeper:
    """Which namespaces are to be looked at."""

    def __init__(self, context: Context, wanted: Wanted) -> None:
        self._context, self._wanted = context, wanted
        self._suffix = f"/{wanted.name}".encode()
        self._queue: dict[bytes, None] = {}
        self._retries = Retries()
        self._wake = asyncio.Event()

    def note_namespaces(self, found: Iterable[KeyValue]) -> None:
        """Namespaces as they are now."""
        self._look_at(kv.key.rpartition(b"/")[2] for kv in found if not is_terminating(kv))

    def namespaces_changed(self, events: Iterable[Event]) -> None:
        """Namespaces are new, or are no more what they were."""
        self.note_namespaces(event.kv for event in events if event.is_create)

    def objects_changed(self, events: Iterable[Event]) -> None:
        """Objects of the type were written or deleted; only those of the name matter."""
        corrects = self._wanted.correct is not None
        keys = (
            event.kv.key
            for event in events
            if event.kv.key.endswith(self._suffix) and (corrects or event.type is EventType.DELETE)
        )
        self._look_at(key.split(b"/")[-2] for key in keys)

    def _look_at(self, namespaces: Iterable[bytes]) -> None:
        self._queue.update(dict.fromkeys(namespaces))
        if self._queue:
            self._wake.set()

    async def run(self) -> None:
        """Look at them, one after the other."""
        while True:
            now = self._context.clock.monotonic()
            self._look_at(self._retries.take(now=now))
            if not self._queue:
                self._wake.clear()
                await self._wait(self._retries.wait_s(now=now))
                continue
            namespace = next(iter(self._queue))
            del self._queue[namespace]
            await self._try(namespace)

    async def _wait(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _try(self, namespace: bytes) -> None:
        try:
            await self._ensure(namespace.decode())
        except StoreClosed:
            raise
        except StatusError as error:
            # The namespace is gone or about to go: nothing belongs into it.
            if error.code in (403, 404):
                self._retries.done(namespace)
                return
            self._context.controllers.failed(self._wanted.controller)
            self._retries.again(namespace, now=self._context.clock.monotonic())
        else:
            self._retries.done(namespace)

    async def _ensure(self, namespace: str) -> None:
        context, wanted = self._context, self._wanted
        place = Place(wanted.resource, namespace, wanted.name)
        kv = await context.store.get(wanted.resource.key(namespace, wanted.name))
        if kv is None:
            await self._create(place)
        elif wanted.correct is not None and wanted.correct(decode(wanted.resource, kv)):
            uid = decode(wanted.resource, kv)["metadata"]["uid"]
            await edit(context, place, uid=uid, change_it=wanted.correct, actor=wanted.actor)
            context.controllers.did(wanted.controller, "correct")

    async def _create(self, place: Place) -> None:
        context, wanted, resource = self._context, self._wanted, place.resource
        guard = await require_namespace(context, resource, place.namespace, name=place.name)
        obj = wanted.make()
        obj["metadata"] = {**obj.get("metadata", {}), "name": place.name, "namespace": place.namespace}
        value = prepare_new(resource, obj, writer(context, resource), warnings=[])
        key = resource.key(place.namespace, place.name)
        try:
            await create_guarded(context, resource, key, value=value, actor=wanted.actor, guard=guard)
        except KeyExists:
            return
        context.controllers.did(wanted.controller, "create")
