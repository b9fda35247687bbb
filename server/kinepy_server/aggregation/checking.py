"""The controller that keeps the condition `Available` of APIServices true."""

import asyncio
from collections.abc import Callable, Iterable, Sequence

from kinepy import Event, EventType, KeyRange, KeyValue
from kinepy.errors import StoreClosed
from kinepy_server.aggregation.apiservice import GROUP, PLURAL, VERSION, ApiService, key_of, read
from kinepy_server.aggregation.availability import LOCAL, Availability, check, told
from kinepy_server.aggregation.following import API_SERVICES
from kinepy_server.aggregation.resolver import ENDPOINTS, SERVICES, SLICES, Found, look_up
from kinepy_server.aggregation.tasks import together
from kinepy_server.aggregation.transport import Transport
from kinepy_server.apply.managed_fields import Writer
from kinepy_server.context import Context
from kinepy_server.controllers.feed import Feed
from kinepy_server.controllers.retries import Retries
from kinepy_server.errors import StatusError, not_found
from kinepy_server.objects.codec import decode
from kinepy_server.objects.times import timestamp
from kinepy_server.resources.resource import Resource
from kinepy_server.writes.outcome import Decision, Keep, change
from kinepy_server.writes.prepare import prepare_changed
from kinepy_server.writes.versions import ServedVersions

ACTOR = "system:apiserver"
MANAGER = "kube-apiserver"
RESYNC_S = 30.0
_PLACES = (SERVICES, ENDPOINTS, SLICES)


def api_services_resource(context: Context) -> Resource:
    """The resource of APIServices themselves."""
    found = context.registry.lookup(GROUP, VERSION, PLURAL)
    assert found is not None, "APIServices are always served"
    return found


async def check_api_services(context: Context) -> None:
    """Check, and write what has changed; runs until cancelled."""
    transport = Transport(context.aggregation.identity)
    try:
        async with together() as tasks, Feed(context.store, API_SERVICES) as feed:
            checker = Checker(context, transport, tasks)
            async for page in feed.existing():
                checker.note(page)
            tasks.create_task(checker.resync())
            while True:
                checker.apply(await feed.changes())
    finally:
        transport.close()


class Checker:
    """Which APIServices are to be looked at. Each is looked at by a task of its own: one may hang for seconds."""

    def __init__(self, context: Context, transport: Transport, tasks: asyncio.TaskGroup) -> None:
        self._context, self._transport, self._tasks = context, transport, tasks
        self._known: dict[bytes, ApiService] = {}
        self._busy: dict[bytes, bool] = {}
        """The keys that are being looked at, and whether they are to be looked at again."""
        self._retries = Retries()
        self._woken = asyncio.Event()
        self._places: list[asyncio.Task[None]] = []

    def note(self, kvs: Iterable[KeyValue]) -> None:
        """APIServices as they are."""
        for kv in kvs:
            self._note(kv)

    def apply(self, events: Iterable[Event]) -> None:
        """APIServices have changed."""
        for event in events:
            if event.type is EventType.PUT:
                self._note(event.kv)
            else:
                self._known.pop(event.kv.key, None)
                self._retries.done(event.kv.key)

    def _note(self, kv: KeyValue) -> None:
        service = self._known[kv.key] = read(kv)
        if service.service is not None:
            self._follow_places()
        self._look_at(kv.key)

    def _look_at(self, key: bytes) -> None:
        if key in self._busy:
            self._busy[key] = True
        else:
            self._busy[key] = False
            self._tasks.create_task(self._look(key))

    async def _look(self, key: bytes) -> None:
        while True:
            self._busy[key] = False
            service = self._known.get(key)
            if service is not None:
                await self._try(key, service)
            if not self._busy[key]:
                del self._busy[key]
                return

    async def _try(self, key: bytes, service: ApiService) -> None:
        clock = self._context.clock
        try:
            wanted = await self._check(service)
            await self._write(service, wanted)
        except StoreClosed:
            raise
        except StatusError:
            # Gone, or changed to something else meanwhile: then the change is heard of.
            self._context.controllers.failed("apiservices")
            self._retries.again(key, now=clock.monotonic())
            self._woken.set()
            return
        if wanted.reason == "FailedDiscoveryCheck":
            # Nobody tells when a backend comes to life.
            self._retries.again(key, now=clock.monotonic())
            self._woken.set()
        else:
            self._retries.done(key)

    async def _check(self, service: ApiService) -> Availability:
        if service.service is None:
            return LOCAL
        context = self._context
        found: Found = await look_up(context.store, service.service)
        return await check(service, found, transport=self._transport, random=context.random)

    async def _write(self, service: ApiService, wanted: Availability) -> None:
        context, resource = self._context, api_services_resource(self._context)
        now = timestamp(context.clock.now_us())
        writer = Writer(MANAGER, ServedVersions(context.registry, resource), "status", now)

        def decide(kv: KeyValue | None) -> Decision:
            if kv is None:
                raise not_found(resource, service.name)
            obj = decode(resource, kv)
            status = told(obj, wanted, now=now)
            if status is None or read(kv).service != service.service:
                return Keep()
            return prepare_changed(
                resource, {**obj, "status": status}, decode(resource, kv), writer=writer, warnings=[]
            )

        try:
            await change(context, key_of(service.name), decide, actor=ACTOR)
        except StatusError as error:
            if error.code != 404:
                raise

    async def resync(self) -> None:
        """Look at those whose time has come, and at all backends now and then."""
        clock = self._context.clock
        next_round = clock.monotonic() + RESYNC_S
        while True:
            now = clock.monotonic()
            for key in self._retries.take(now=now):
                self._look_at(key)
            if now >= next_round:
                next_round = now + RESYNC_S
                self._look_at_backends(lambda _: True)
            self._woken.clear()
            await self._pause(next_round - now, self._retries.wait_s(now=now))

    async def _pause(self, seconds: float, retry_s: float | None) -> None:
        try:
            async with asyncio.timeout(seconds if retry_s is None else min(seconds, retry_s)):
                await self._woken.wait()
        except TimeoutError:
            return

    def _look_at_backends(self, concerned: Callable[[ApiService], bool]) -> None:
        for key, service in self._known.items():
            if service.service is not None and concerned(service):
                self._look_at(key)

    def _follow_places(self) -> None:
        """Hear of Services and their endpoints: only where there is something behind them."""
        if not self._places:
            self._places = [self._tasks.create_task(self._follow(prefix)) for prefix in _PLACES]

    async def _follow(self, prefix: bytes) -> None:
        async with Feed(self._context.store, KeyRange.prefix(prefix)) as feed:
            while True:
                self._changed(await feed.changes())

    def _changed(self, events: Sequence[Event]) -> None:
        namespaces = {event.kv.key.split(b"/")[-2].decode() for event in events}
        self._look_at_backends(lambda one: one.service is not None and one.service.namespace in namespaces)
