"""Claims and volumes that are deleted go when nobody uses them any more; until then a finalizer holds them.

The finalizers are given to each at its creation. A volume is in use while it is bound, a claim while a pod that
has not ended names it.
"""

from collections.abc import Iterable

from kinepy import Event, KeyRange, KeyValue
from kinepy_server.context import Context
from kinepy_server.controllers.changing import edit
from kinepy_server.controllers.feed import Feed
from kinepy_server.controllers.places import Place, Places
from kinepy_server.errors import StatusError
from kinepy_server.objects.codec import decode
from kinepy_server.paging import every_page
from kinepy_server.resources.resource import JsonObject, Resource

NAME = "storageprotection"
_PODS, _CLAIMS, _VOLUMES = "pods", "persistentvolumeclaims", "persistentvolumes"
_FINALIZERS = {_CLAIMS: "kubernetes.io/pvc-protection", _VOLUMES: "kubernetes.io/pv-protection"}
_ACTOR = "system:serviceaccount:kube-system:{}-protection-controller"
_ACTORS = {_CLAIMS: _ACTOR.format("pvc"), _VOLUMES: _ACTOR.format("pv")}
_ENDED = ("Succeeded", "Failed")


async def release_storage(context: Context) -> None:
    """Release claims and volumes that are deleted and not in use; runs until cancelled."""
    resources = {plural: _resource(context, plural) for plural in (_CLAIMS, _VOLUMES, _PODS)}
    releasing = _Releasing(context, resources)
    # The three types' keys lie close together: one range holds them all.
    first, last = resources[_CLAIMS].list_prefix(""), resources[_PODS].list_prefix("")
    async with Feed(context.store, KeyRange(first, KeyRange.prefix(last).end)) as feed:
        async for page in feed.existing():
            for kv in page:
                await releasing.look_at(kv)
        while True:
            await releasing.changed(await feed.changes())


def _resource(context: Context, plural: str) -> Resource:
    found = context.registry.lookup("", "v1", plural)
    assert found is not None, "the types of the group without a name are always served"
    return found


class _Releasing:
    def __init__(self, context: Context, resources: dict[str, Resource]) -> None:
        self._context, self._resources = context, resources
        self._places = Places(context)
        self._waiting: dict[bytes, Place] = {}  # what is deleted and in use, by key

    async def changed(self, events: Iterable[Event]) -> None:
        """Objects were written or deleted."""
        for event in events:
            await self.look_at(event.kv)

    async def look_at(self, kv: KeyValue) -> None:
        """The object of a claim, a volume, or a pod, that may let go of its claims."""
        self._places.renewed()
        place = self._places.of(kv.key)
        if place is None:
            return
        if place.resource.plural in _FINALIZERS:
            await self._release(place)
        elif place.resource.plural == _PODS:
            for claim in [
                waiting for waiting in self._waiting.values() if waiting.namespace == place.namespace
            ]:
                await self._release(claim)

    async def _release(self, place: Place) -> None:
        resource = place.resource
        key = resource.key(place.namespace, place.name)
        self._waiting.pop(key, None)
        kv = await self._context.store.get(key)
        if kv is None:
            return
        obj, finalizer = decode(resource, kv), _FINALIZERS[resource.plural]
        metadata = obj["metadata"]
        if "deletionTimestamp" not in metadata or finalizer not in metadata.get("finalizers", ()):
            return
        if await self._is_used(place, obj):
            self._waiting[key] = place
            return

        def remove(found: JsonObject) -> bool:
            left = [name for name in found["metadata"].get("finalizers", ()) if name != finalizer]
            has_changed: bool = left != found["metadata"].get("finalizers", [])
            found["metadata"]["finalizers"] = left
            return has_changed

        try:
            await edit(
                self._context, place, uid=metadata["uid"], change_it=remove, actor=_ACTORS[resource.plural]
            )
        except StatusError as error:
            if error.code != 404:  # it went by itself
                raise
        else:
            self._context.controllers.did(NAME, "release")

    async def _is_used(self, place: Place, obj: JsonObject) -> bool:
        if place.resource.plural == _VOLUMES:
            return bool(obj.get("status", {}).get("phase") == "Bound")
        pods = self._resources[_PODS]
        there = KeyRange.prefix(pods.list_prefix(place.namespace))
        async for page in every_page(self._context.store, there):
            if any(_uses(decode(pods, kv), place.name) for kv in page):
                return True
        return False


def _uses(pod: JsonObject, claim: str) -> bool:
    if pod.get("status", {}).get("phase") in _ENDED:
        return False
    volumes = pod.get("spec", {}).get("volumes") or ()
    named = [(volume.get("persistentVolumeClaim") or {}).get("claimName") for volume in volumes]
    return claim in named
