"""The namespace controller: empties terminating namespaces, then lets them go (NS-2).

Every process of a database may run it: each step is a compare-and-write or a delete that does no harm when
another process was first.
"""

from kinepy import EventType, KeyRange, KeyValue, Revision
from kinepy_server.apply.managed_fields import Writer
from kinepy_server.context import Context
from kinepy_server.errors import StatusError, not_found
from kinepy_server.objects.codec import decode
from kinepy_server.objects.namespaces import is_terminating
from kinepy_server.objects.times import timestamp
from kinepy_server.resources.resource import Resource
from kinepy_server.writes.delete import Deletion
from kinepy_server.writes.delete_options import DeleteOptions
from kinepy_server.writes.outcome import Decision, change
from kinepy_server.writes.prepare import prepare_changed
from kinepy_server.writes.versions import ServedVersions

ACTOR = "system:serviceaccount:kube-system:namespace-controller"
MANAGER = "kube-controller-manager"
FINALIZER = "kubernetes"
PAGE_KEYS = 500


async def control_namespaces(context: Context) -> None:
    """Finish the deletion of namespaces, those that are terminating now and later ones; runs until cancelled."""
    namespaces = context.registry.lookup("", "v1", "namespaces")
    assert namespaces is not None, "namespaces are always served"
    controller = _Controller(context, namespaces)
    # Objects that finalizers hold go without a sign to this watch, so their namespaces are looked at again.
    retry_s = context.settings.namespace_retry_s
    everything = KeyRange.prefix(namespaces.list_prefix(""))
    current = await context.store.range(everything)
    for kv in current.items:
        controller.note(kv)
    async with context.store.watch(everything, start=Revision(current.revision + 1)) as watch:
        while True:
            await controller.work()
            batch = await watch.next(timeout_s=retry_s if controller.pending else None)
            for event in batch.events if batch else ():
                if event.type is EventType.PUT:
                    controller.note(event.kv)
                else:
                    controller.forget(event.kv.key)


class _Elsewhere(Exception):
    """The namespace is no longer what it was: another process has finished it."""


class _Controller:
    """The namespaces that wait to be finished."""

    def __init__(self, context: Context, namespaces: Resource) -> None:
        self._context, self._namespaces = context, namespaces
        self.pending: set[str] = set()

    def note(self, kv: KeyValue) -> None:
        """A namespace as it is now."""
        if is_terminating(kv):
            self.pending.add(self._name(kv.key))

    def forget(self, key: bytes) -> None:
        """The namespace is gone."""
        self.pending.discard(self._name(key))

    def _name(self, key: bytes) -> str:
        return key.rpartition(b"/")[2].decode()

    async def work(self) -> None:
        """Bring every pending namespace as far as it goes now."""
        for name in sorted(self.pending):
            try:
                await self._finish(name)
            except _Elsewhere:
                # Another process was faster, and the name may belong to a new namespace by now.
                self.pending.discard(name)

    async def _finish(self, name: str) -> None:
        life = Revision(0)
        for resource in self._context.registry.stored():
            if not resource.namespaced:
                continue
            life, empty = await self._delete_all(resource, name)
            if not empty:
                return
        await self._finalize(name, life)
        self.pending.discard(name)

    async def _delete_all(self, resource: Resource, namespace: str) -> tuple[Revision, bool]:
        """Delete the objects of one resource. Returns which life of the namespace it was, and whether none is left."""
        store = self._context.store
        scanned = KeyRange.prefix(resource.list_prefix(namespace))
        empty = True
        while True:
            page = await store.range(scanned, limit=PAGE_KEYS, keys_only=True)
            # In the same snapshot, so that no object of a later namespace of the same name can be meant.
            kv = await store.get(self._namespaces.key("", namespace), at=page.revision)
            if kv is None or not is_terminating(kv):
                raise _Elsewhere
            for item in page.items:
                empty = await self._delete(resource, namespace, item) and empty
            if not page.more or not page.items:
                return kv.create_revision, empty
            scanned = scanned.after(page.items[-1].key)

    async def _delete(self, resource: Resource, namespace: str, kv: KeyValue) -> bool:
        """Delete this version of an object; returns whether it is gone."""
        options = DeleteOptions(resource_version=str(kv.mod_revision))
        deletion = Deletion(self._context, resource, self._name(kv.key), options=options)
        try:
            outcome = await deletion.run(namespace, actor=ACTOR)
        except StatusError as error:
            if error.code not in (404, 409):
                raise
            return error.code == 404
        return outcome.removed

    async def _finalize(self, name: str, life: Revision) -> None:
        """Drop the finalizer that stands for the contents; the namespace goes if nothing else holds it."""
        now = timestamp(self._context.clock.now_us())
        versions = ServedVersions(self._context.registry, self._namespaces)
        writer = Writer(MANAGER, versions, "finalize", now)

        def decide(kv: KeyValue | None) -> Decision:
            if kv is None or kv.create_revision != life:
                raise not_found(self._namespaces, name)
            return self._without_finalizer(writer, kv)

        try:
            await change(self._context, self._namespaces.key("", name), decide, actor=ACTOR)
        except StatusError as error:
            if error.code != 404:
                raise
            raise _Elsewhere from None

    def _without_finalizer(self, writer: Writer, kv: KeyValue) -> Decision:
        old, new = decode(self._namespaces, kv), decode(self._namespaces, kv)
        spec = new.setdefault("spec", {})
        left = [one for one in spec.get("finalizers") or () if one != FINALIZER]
        if left:
            spec["finalizers"] = left
        else:
            spec.pop("finalizers", None)
        return prepare_changed(self._namespaces, new, old, writer=writer, warnings=[])
