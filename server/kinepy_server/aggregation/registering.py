"""The controller that makes APIServices for what this server serves itself, and takes them away with it.

An APIService of the same name that somebody else has made stays as it is: so group versions of definitions can be
given to another server. Built-in ones are corrected once, those of definitions always.
"""

import asyncio
from collections.abc import Iterable, Mapping

from kinepy import EventType, KeyValue, Revision
from kinepy.errors import GuardFailed, KeyExists, KeyNotFound, RevisionConflict
from kinepy_server.aggregation.apiservice import (
    CONTINUOUSLY,
    ON_START,
    PREFIX,
    ApiService,
    key_of,
    name_of,
    read,
)
from kinepy_server.aggregation.checking import ACTOR, MANAGER, api_services_resource
from kinepy_server.aggregation.following import API_SERVICES
from kinepy_server.aggregation.priorities import built_in_services, own_priority, own_service
from kinepy_server.aggregation.tasks import together
from kinepy_server.apply.managed_fields import Writer
from kinepy_server.context import Context
from kinepy_server.controllers.feed import Feed
from kinepy_server.custom.definition import Definition
from kinepy_server.custom.following import DEFINITIONS
from kinepy_server.custom.serving import Serving
from kinepy_server.objects.codec import decode
from kinepy_server.objects.times import timestamp
from kinepy_server.resources.resource import JsonObject
from kinepy_server.writes.outcome import Write
from kinepy_server.writes.prepare import prepare_changed, prepare_new
from kinepy_server.writes.versions import ServedVersions

AT_ONCE = 32
AGAIN_S = 1.0
"""So soon what could not be written is tried again."""


async def register_api_services(context: Context, *, serving: Serving) -> None:
    """Keep APIServices in step with definitions; runs until cancelled."""
    registrar = Registrar(context, serving)
    async with (
        together() as tasks,
        Feed(context.store, DEFINITIONS) as definitions,
        Feed(context.store, API_SERVICES) as services,
    ):
        async for page in services.existing():
            registrar.note(page)
        await registrar.correct_built_in()
        tasks.create_task(registrar.follow_definitions(definitions))
        tasks.create_task(registrar.follow_services(services))
        await registrar.run()


class Registrar:
    """What there is, and what there should be."""

    def __init__(self, context: Context, serving: Serving) -> None:
        self._context, self._serving = context, serving
        self._known: dict[str, ApiService] = {}
        self._built_in = {name_of(*one) for one in built_in_services(context.registry)}
        self._woken = asyncio.Event()

    def note(self, kvs: Iterable[KeyValue]) -> None:
        """APIServices as they are."""
        for kv in kvs:
            service = read(kv)
            self._known[service.name] = service

    async def follow_services(self, feed: Feed) -> None:
        """Hear of changes of APIServices."""
        while True:
            for event in await feed.changes():
                name = event.kv.key.removeprefix(PREFIX).decode()
                if event.type is EventType.PUT:
                    self._known[name] = read(event.kv)
                else:
                    self._known.pop(name, None)
            self._woken.set()

    async def follow_definitions(self, feed: Feed) -> None:
        """Hear of changes of definitions."""
        while True:
            await feed.changes()
            # What the feed tells the server itself has learned too, if not before then at once.
            await asyncio.sleep(0)
            self._woken.set()

    async def correct_built_in(self) -> None:
        """Put right what was made when a server started first, maybe one that served something else."""
        for one in tuple(self._known.values()):
            if one.managed != ON_START:
                continue
            if one.name not in self._built_in:
                await self._delete(one)
            elif not _is_own(one):
                await self._correct(one)

    async def run(self) -> None:
        """Write what is missing, or is too much, whenever something has changed."""
        while True:
            self._woken.clear()
            settled = await self._settle()
            try:
                async with asyncio.timeout(None if settled else AGAIN_S):
                    await self._woken.wait()
            except TimeoutError:
                continue

    def _wanted(self) -> Mapping[str, Definition]:
        """The APIServices of definitions, each with one that serves the group version."""
        return {
            name: definition
            for definition in self._serving.definitions()
            for version in definition.versions
            if version.served and (name := name_of(definition.group, version.name)) not in self._built_in
        }

    async def _settle(self) -> bool:
        """Whether everything could be written."""
        wanted, work = self._wanted(), []
        for name, definition in wanted.items():
            known = self._known.get(name)
            if known is None:
                work.append(self._create(name, definition))
            elif known.managed == CONTINUOUSLY and not _is_own(known):
                work.append(self._correct(known))
        for name, known in self._known.items():
            if known.managed == CONTINUOUSLY and name not in wanted:
                work.append(self._delete(known))
        settled = True
        for start in range(0, len(work), AT_ONCE):
            settled = all(await asyncio.gather(*work[start : start + AT_ONCE])) and settled
        return settled

    async def _create(self, name: str, definition: Definition) -> bool:
        store, resource = self._context.store, api_services_resource(self._context)
        guard = await store.get(definition.key, consistent=False)
        if guard is None:
            return True
        version, _, group = name.partition(".")
        obj = own_service(group, version, managed=CONTINUOUSLY)
        value = prepare_new(resource, obj, self._writer(), warnings=[])
        try:
            # Only while the definition is there: with it the APIService would go.
            await store.create(key_of(name), value, actor=ACTOR, guard=guard)
        except (KeyExists, GuardFailed):
            return False
        return True

    async def _correct(self, known: ApiService) -> bool:
        store, resource = self._context.store, api_services_resource(self._context)
        kv = await store.get(key_of(known.name))
        if kv is None or kv.mod_revision != known.revision:
            return False
        old = decode(resource, kv)
        new: JsonObject = {**old, "metadata": dict(old["metadata"])}
        new["spec"] = own_service(known.group, known.version, managed=known.managed)["spec"]
        changed = prepare_changed(resource, new, old, writer=self._writer(), warnings=[])
        assert isinstance(changed, Write), "what is not being deleted stays"
        try:
            await store.update(kv.key, changed.value, expect=kv.mod_revision, actor=ACTOR)
        except (RevisionConflict, KeyNotFound):
            return False
        return True

    async def _delete(self, known: ApiService) -> bool:
        try:
            await self._context.store.delete(key_of(known.name), expect=Revision(known.revision), actor=ACTOR)
        except KeyNotFound:
            return True
        except RevisionConflict:
            return False
        return True

    def _writer(self) -> Writer:
        resource, registry = api_services_resource(self._context), self._context.registry
        now = timestamp(self._context.clock.now_us())
        return Writer(MANAGER, ServedVersions(registry, resource), "", now)


def _is_own(known: ApiService) -> bool:
    """Whether an APIService says what the server's own one does."""
    priority = (known.group_priority, known.version_priority)
    plain = known.service is None and not known.ca and not known.insecure
    return plain and priority == own_priority(known.group, known.version)
