"""The namespace controller: empties terminating namespaces, then lets them go (NS-2).

Every step is a compare-and-write or a conditional delete that does no harm when another process was first.
"""

import logging
from collections.abc import Iterable

from kinepy import EventType, KeyRange, KeyValue
from kinepy.errors import KinepyError, StoreClosed
from kinepy_server.context import Context
from kinepy_server.controllers.changing import Edit, edit
from kinepy_server.controllers.feed import Feed
from kinepy_server.controllers.garbage.graph import metadata_of
from kinepy_server.controllers.namespace_conditions import Remaining, set_conditions
from kinepy_server.controllers.namespace_contents import ACTOR, NAME, Contents, Elsewhere, dying
from kinepy_server.controllers.places import Place
from kinepy_server.controllers.retries import Retries
from kinepy_server.errors import StatusError
from kinepy_server.objects.namespaces import is_terminating
from kinepy_server.objects.times import timestamp
from kinepy_server.resources.resource import JsonObject, Resource

_log = logging.getLogger("kinepy.controllers")

FINALIZER = "kubernetes"
RETRY_MAX_S = 10.0


async def control_namespaces(context: Context) -> None:
    """Finish the deletion of namespaces, those that are terminating now and later ones; runs until cancelled."""
    namespaces = context.registry.lookup("", "v1", "namespaces")
    assert namespaces is not None, "namespaces are always served"
    controller = _Controller(context, namespaces)
    async with Feed(context.store, KeyRange.prefix(namespaces.list_prefix(""))) as feed:
        async for page in feed.existing():
            controller.note(page)
        while True:
            await controller.work()
            # Objects that finalizers hold go without a sign to this feed: their namespaces are looked at again.
            events = await feed.changes(timeout_s=controller.wait_s())
            controller.note(event.kv for event in events if event.type is EventType.PUT)


def let_go(namespace: JsonObject) -> bool:
    """Drop the finalizer that stands for the contents."""
    spec = namespace.setdefault("spec", {})
    finalizers = spec.get("finalizers") or ()
    spec["finalizers"] = [one for one in finalizers if one != FINALIZER]
    if not spec["finalizers"]:
        del spec["finalizers"]
    return FINALIZER in finalizers


class _Controller:
    """The namespaces that wait to be finished."""

    def __init__(self, context: Context, namespaces: Resource) -> None:
        self._context, self._namespaces = context, namespaces
        self._queue: dict[bytes, None] = {}
        self._retries = Retries(first_s=context.settings.namespace_retry_s, max_s=RETRY_MAX_S)

    def note(self, namespaces: Iterable[KeyValue]) -> None:
        """Namespaces as they are now."""
        self._queue.update((kv.key, None) for kv in namespaces if is_terminating(kv))

    def wait_s(self) -> float | None:
        """How long there is nothing to do unless something changes."""
        return 0 if self._queue else self._retries.wait_s(now=self._context.clock.monotonic())

    async def work(self) -> None:
        """Bring every waiting namespace as far as it goes now."""
        self._queue.update(dict.fromkeys(self._retries.take(now=self._context.clock.monotonic())))
        queue, self._queue = self._queue, {}
        for key in queue:
            await self._try(key)
        self._context.controllers.pending[NAME] = len(self._retries)

    async def _try(self, key: bytes) -> None:
        try:
            finished = await self._finish(key)
        except StoreClosed:
            raise
        except Elsewhere:
            # Another process was faster, and the name may belong to a new namespace by now.
            finished = True
        except (StatusError, KinepyError) as error:
            _log.warning("the namespace controller will look at %r again: %s", key, error)
            self._context.controllers.failed(NAME)
            finished = False
        if finished:
            self._retries.done(key)
        else:
            self._retries.again(key, now=self._context.clock.monotonic())

    async def _finish(self, key: bytes) -> bool:
        """Empty a namespace and let it go; returns whether there is nothing left to do."""
        namespace = await dying(self._context, key)
        remaining = await Contents(self._context, namespace).delete_all()
        if remaining:
            await self._tell(namespace, remaining)
            return False
        await self._edit(namespace, let_go, subresource="finalize")
        self._context.controllers.did(NAME, "finalize")
        return True

    async def _tell(self, namespace: KeyValue, remaining: Remaining) -> None:
        now = timestamp(self._context.clock.now_us())
        await self._edit(namespace, lambda obj: set_conditions(obj, remaining, now=now), subresource="status")

    async def _edit(self, namespace: KeyValue, change: Edit, *, subresource: str) -> None:
        metadata = metadata_of(namespace.value)
        place = Place(self._namespaces, "", metadata["name"])
        try:
            await edit(
                self._context,
                place,
                uid=metadata["uid"],
                change_it=change,
                actor=ACTOR,
                subresource=subresource,
            )
        except StatusError as error:
            if error.code != 404:
                raise
            raise Elsewhere from None
