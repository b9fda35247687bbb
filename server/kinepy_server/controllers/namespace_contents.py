"""Deleting what is in a dying namespace."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence

from kinepy import KeyRange, KeyValue, Revision
from kinepy_server.context import Context
from kinepy_server.controllers.garbage.graph import metadata_of
from kinepy_server.controllers.namespace_backends import CONTROLLER, delete_on_backends
from kinepy_server.controllers.namespace_conditions import Remaining
from kinepy_server.errors import StatusError
from kinepy_server.objects.namespaces import is_terminating
from kinepy_server.paging import PAGE_KEYS
from kinepy_server.resources.resource import Resource
from kinepy_server.writes.delete import Deletion
from kinepy_server.writes.delete_options import DeleteOptions

NAME = "namespaces"
ACTOR = CONTROLLER.name
AT_ONCE = 64
_PODS = "/registry/pods"


class Elsewhere(Exception):
    """The namespace is no longer what it was: another process has finished it."""


class Contents:
    """The contents of one life of one namespace.

    `namespace` is a version of it that is dying. Every read of the contents is of a later state than that,
    and nothing new comes into a dying namespace: so what is found empty stays empty.
    """

    def __init__(self, context: Context, namespace: KeyValue) -> None:
        self._context, self._namespace = context, namespace
        self._name = namespace.key.rpartition(b"/")[2].decode()

    async def delete_all(self) -> Remaining:
        """Delete everything, pods first. What remains is held by something, or failed."""
        remaining = Remaining()
        pods, others = self._resources()
        for resources in (pods, others):
            for resource in resources:
                await self._delete_collection(resource, remaining)
            if remaining:
                break
        if self._context.aggregation.remote:
            await dying(self._context, self._namespace.key, life=self._namespace.create_revision)
            await delete_on_backends(self._context, self._name, remaining)
        return remaining

    def _resources(self) -> tuple[Sequence[Resource], Sequence[Resource]]:
        found = [resource for resource in self._context.registry.stored() if resource.namespaced]
        pods = [resource for resource in found if resource.key_prefix == _PODS]
        return pods, [resource for resource in found if resource.key_prefix != _PODS]

    async def _delete_collection(self, resource: Resource, remaining: Remaining) -> None:
        store = self._context.store
        left = KeyRange.prefix(resource.list_prefix(self._name))
        while True:
            page = await store.range(left, limit=PAGE_KEYS, keys_only=True, consistent=False)
            if not page.items:
                return
            # In the same snapshot, so that no object of a later namespace of the same name can be meant.
            now = await store.get(self._namespace.key, at=page.revision)
            if now is None or now.create_revision != self._namespace.create_revision:
                raise Elsewhere
            for some in _slices(page.items, AT_ONCE):
                await asyncio.gather(*(self._delete(resource, kv, remaining) for kv in some))
            if not page.more:
                return
            left = left.after(page.items[-1].key)

    async def _delete(self, resource: Resource, kv: KeyValue, remaining: Remaining) -> None:
        """Delete this version of an object; one that is held, or has changed, remains for now."""
        options = DeleteOptions(policy="Background", resource_version=str(kv.mod_revision))
        deletion = Deletion(self._context, resource, kv.key.rpartition(b"/")[2].decode(), options=options)
        try:
            outcome = await deletion.run(self._name, actor=ACTOR)
        except StatusError as error:
            if error.code == 404:
                return
            if error.code != 409:
                remaining.failures.append(str(error))
        else:
            if outcome.removed:
                self._context.controllers.did(NAME, "delete")
                return
            remaining.finalizers.update(metadata_of(outcome.kv.value).get("finalizers") or ())
        remaining.objects[f"{resource.plural}.{resource.group}"] += 1


def _slices(items: Sequence[KeyValue], size: int) -> Iterator[Iterable[KeyValue]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


async def dying(context: Context, key: bytes, *, life: Revision | None = None) -> KeyValue:
    """A dying namespace as it is now; raises `Elsewhere` when it is none, or of another `life`."""
    kv = await context.store.get(key)
    if kv is None or not is_terminating(kv) or (life is not None and kv.create_revision != life):
        raise Elsewhere
    return kv
