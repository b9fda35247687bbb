"""Writing into definitions what has become of their names (CRD-4). Every process does it: the first one wins."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import TypeAlias

from kinepy import KeyValue
from kinepy.errors import KinepyError, StoreClosed
from kinepy_server.apply.managed_fields import Writer
from kinepy_server.context import Context
from kinepy_server.custom.conditions import wanted_status
from kinepy_server.custom.definition import Definition
from kinepy_server.custom.serving import Serving
from kinepy_server.errors import StatusError, not_found
from kinepy_server.objects.codec import decode
from kinepy_server.objects.times import timestamp
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.writes.outcome import Decision, Keep, change
from kinepy_server.writes.prepare import prepare_changed
from kinepy_server.writes.versions import ServedVersions

_log = logging.getLogger("kinepy.custom")
MANAGER = "kube-apiserver"
ACTOR = "kinepy custom-resources"
AT_ONCE = 32
Edit: TypeAlias = Callable[[JsonObject, Definition], bool]
"""Changes a definition in place, which is also given as it is stored; whether it did."""
_PAUSE_S = 1.0


def definitions_resource(context: Context) -> Resource:
    """The resource of definitions themselves."""
    found = context.registry.lookup("apiextensions.k8s.io", "v1", "customresourcedefinitions")
    assert found is not None, "definitions are always served"
    return found


async def change_status(context: Context, key: bytes, edit: Edit) -> None:
    """Change the status of a definition in the server's name; does nothing when it is gone."""
    resource = definitions_resource(context)
    writer = Writer(
        MANAGER, ServedVersions(context.registry, resource), "status", timestamp(context.clock.now_us())
    )

    def decide(kv: KeyValue | None) -> Decision:
        if kv is None:
            raise not_found(resource, key.decode())
        new = decode(resource, kv)
        if not edit(new, Definition(kv)):
            return Keep()
        return prepare_changed(resource, new, decode(resource, kv), writer=writer, warnings=[])

    try:
        await change(context, key, decide, actor=ACTOR)
    except StatusError as error:
        if error.code != 404:
            raise


class Establisher:
    """Looks at definitions until their status says what is true."""

    def __init__(self, context: Context, serving: Serving) -> None:
        self._context, self._serving = context, serving
        self._queue: dict[bytes, None] = {}
        self._woken = asyncio.Event()

    def look_at(self, keys: Iterable[bytes]) -> None:
        """Definitions that have changed, or whose rivals have."""
        now = timestamp(self._context.clock.now_us())
        for key in keys:
            definition, acceptance = self._serving.known(key), self._serving.acceptances.get(key)
            if definition is None or acceptance is None or definition.deleting:
                continue
            if wanted_status(definition, acceptance, now=now) is not None:
                self._queue[key] = None
                self._woken.set()

    async def run(self) -> None:
        """Write until cancelled, or until the store closes."""
        while True:
            await self._woken.wait()
            self._woken.clear()
            while self._queue:
                keys = list(self._queue)[:AT_ONCE]
                for key in keys:
                    del self._queue[key]
                try:
                    await asyncio.gather(*map(self._settle, keys))
                except StoreClosed:
                    return
                except (KinepyError, StatusError) as error:
                    _log.warning("the status of a definition could not be written yet: %s", error)
                    await self._context.clock.sleep(_PAUSE_S)
                    self.look_at(keys)

    async def _settle(self, key: bytes) -> None:
        def edit(obj: JsonObject, current: Definition) -> bool:
            acceptance = self._serving.acceptances.get(key)
            if acceptance is None or current.deleting:
                return False
            now = timestamp(self._context.clock.now_us())
            wanted = wanted_status(current, acceptance, now=now)
            if wanted is None:
                return False
            obj["status"] = {**(obj.get("status") or {}), **wanted}
            return True

        await change_status(self._context, key, edit)
