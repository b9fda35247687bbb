"""Deleting the objects of a definition that is being deleted, then letting it go (CRD-6)."""

import asyncio
import logging
from collections.abc import Iterable

from kinepy import KeyRange, KeyValue
from kinepy.errors import KinepyError, StoreClosed
from kinepy_server.context import Context
from kinepy_server.custom.conditions import set_condition
from kinepy_server.custom.definition import TERMINATING, Definition
from kinepy_server.custom.establishing import ACTOR, change_status, definitions_resource
from kinepy_server.custom.following import DEFINITIONS
from kinepy_server.custom.serving import Serving
from kinepy_server.errors import StatusError, not_found
from kinepy_server.objects.codec import decode, encode
from kinepy_server.objects.lifecycle import DefinitionLifecycle, lifecycle_of
from kinepy_server.objects.times import timestamp
from kinepy_server.paging import every_page
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.writes.delete import Deletion
from kinepy_server.writes.delete_options import DeleteOptions
from kinepy_server.writes.outcome import Decision, Keep, Remove, Write, change

_log = logging.getLogger("kinepy.custom")
AT_ONCE = 64
LOOK_S = 2.0
"""So often objects that something holds are looked at again."""
_FINALIZER = DefinitionLifecycle.FINALIZER


async def clean_definitions(context: Context, *, serving: Serving) -> None:
    """Empty and release definitions that are being deleted; runs until cancelled."""
    async with context.store.watch(DEFINITIONS) as watch:
        while True:
            dying = [one for one in serving.definitions() if one.deleting and _FINALIZER in one.finalizers]
            left = False
            for definition in dying:
                left = not await _cleaned(context, serving, definition) or left
            await watch.next(timeout_s=LOOK_S if left else None)
            # What the watch tells the follower has learned too, if not before then at once.
            await asyncio.sleep(0)


async def _cleaned(context: Context, serving: Serving, definition: Definition) -> bool:
    """Whether a definition could go."""
    try:
        resource = serving.stored_resource(definition.key)
        if resource is not None and not await _is_empty(context, resource):
            await _tell_progress(context, definition)
            await _delete_all(context, resource)
            if not await _is_empty(context, resource):
                return False
        await _release(context, definition)
    except StoreClosed:
        raise
    except (KinepyError, StatusError) as error:
        _log.warning("the objects of %s cannot be deleted yet: %s", definition.name, error)
        return False
    return True


async def _is_empty(context: Context, resource: Resource) -> bool:
    page = await context.store.range(KeyRange.prefix(resource.list_prefix("")), limit=1, keys_only=True)
    return not page.items


async def _tell_progress(context: Context, definition: Definition) -> None:
    def edit(obj: JsonObject, current: Definition) -> bool:
        if (
            not current.deleting
            or (current.condition(TERMINATING) or {}).get("reason") == "InstanceDeletionInProgress"
        ):
            return False
        conditions = [dict(one) for one in current.conditions]
        set_condition(
            conditions,
            TERMINATING,
            status="True",
            reason="InstanceDeletionInProgress",
            message="CustomResource deletion is in progress",
            now=timestamp(context.clock.now_us()),
        )
        obj["status"]["conditions"] = conditions
        return True

    await change_status(context, definition.key, edit)


async def _delete_all(context: Context, resource: Resource) -> None:
    objects = KeyRange.prefix(resource.list_prefix(""))
    async for page in every_page(context.store, objects, keys_only=True):
        for some in _slices([kv.key for kv in page]):
            await asyncio.gather(*(_delete(context, resource, key) for key in some))


def _slices(keys: list[bytes]) -> Iterable[list[bytes]]:
    return (keys[start : start + AT_ONCE] for start in range(0, len(keys), AT_ONCE))


async def _delete(context: Context, resource: Resource, key: bytes) -> None:
    *_, namespace, name = key.decode().split("/")
    deletion = Deletion(context, resource, name, options=DeleteOptions())
    try:
        await deletion.run(namespace if resource.namespaced else "", actor=ACTOR)
    except StatusError as error:
        # Gone already, or changed: then it is looked at again.
        if error.code not in (404, 409):
            raise


async def _release(context: Context, definition: Definition) -> None:
    resource = definitions_resource(context)

    def decide(kv: KeyValue | None) -> Decision:
        if kv is None or kv.create_revision != definition.created:
            raise not_found(resource, definition.name)
        obj = decode(resource, kv)
        finalizers = obj["metadata"].get("finalizers") or []
        if _FINALIZER not in finalizers:
            return Keep()
        obj["metadata"]["finalizers"] = [one for one in finalizers if one != _FINALIZER]
        conditions = obj["status"].get("conditions") or []
        set_condition(
            conditions,
            TERMINATING,
            status="False",
            reason="InstanceDeletionCompleted",
            message="removed all instances",
            now=timestamp(context.clock.now_us()),
        )
        obj["status"]["conditions"] = conditions
        value = encode(resource, obj)
        return Write(value) if lifecycle_of(resource).held(obj) else Remove(value)

    try:
        await change(context, definition.key, decide, actor=ACTOR)
    except StatusError as error:
        if error.code != 404:
            raise
