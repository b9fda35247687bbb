"""How objects die: what holds them, and what a delete leaves in the meantime (DEL-5, NS-2, NS-4). Pure."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from kinepy_server.errors import forbidden
from kinepy_server.objects.times import timestamp
from kinepy_server.resources.resource import JsonObject, Resource


class Lifecycle(Protocol):
    """The rules of one type."""

    def check_delete(self, resource: Resource, name: str) -> None:
        """Raises 403 for an object that may not be deleted."""
        ...

    def begin(self, obj: JsonObject, *, now_us: int, grace_s: int | None) -> bool:
        """Change an object that is deleted before it is asked what holds it; whether it was changed."""
        ...

    def mark(self, obj: JsonObject, *, now: str) -> None:
        """Change an object that is deleted, but still held."""
        ...

    def held(self, obj: JsonObject) -> bool:
        """Whether something must happen before the object can go."""
        ...


class PlainLifecycle:
    """Held by its finalizers."""

    def check_delete(self, resource: Resource, name: str) -> None:
        """Everything may be deleted."""

    def begin(self, obj: JsonObject, *, now_us: int, grace_s: int | None) -> bool:
        """Nothing has a grace period."""
        return False

    def mark(self, obj: JsonObject, *, now: str) -> None:
        """Set the deletion timestamp, once."""
        metadata = obj["metadata"]
        if "deletionTimestamp" in metadata:
            return
        metadata["deletionTimestamp"] = now
        metadata["deletionGracePeriodSeconds"] = 0
        if metadata.get("generation", 0) > 0:
            metadata["generation"] += 1

    def held(self, obj: JsonObject) -> bool:
        """Finalizers are left."""
        return bool(obj["metadata"].get("finalizers"))


class NamespaceLifecycle(PlainLifecycle):
    """Held by the finalizers of its spec too, which stand for its contents."""

    _PROTECTED = frozenset(("default", "kube-system", "kube-public"))

    def check_delete(self, resource: Resource, name: str) -> None:
        """The system's namespaces stay."""
        if name in self._PROTECTED:
            raise forbidden(resource, name, "this namespace may not be deleted")

    def mark(self, obj: JsonObject, *, now: str) -> None:
        """A dying namespace is Terminating and has no grace period."""
        super().mark(obj, now=now)
        obj["metadata"].pop("deletionGracePeriodSeconds", None)
        obj.setdefault("status", {})["phase"] = "Terminating"

    def held(self, obj: JsonObject) -> bool:
        """Finalizers are left, or contents."""
        return super().held(obj) or bool((obj.get("spec") or {}).get("finalizers"))


class PodLifecycle(PlainLifecycle):
    """A pod on a node has time to end: it is held until that is over or it is deleted without any (DEL-7)."""

    def begin(self, obj: JsonObject, *, now_us: int, grace_s: int | None) -> bool:
        """Set when it will be over; later deletes can only shorten that."""
        metadata = obj["metadata"]
        if "deletionTimestamp" in metadata:
            return self._shorten(metadata, grace_s)
        grace = self._grace_s(obj, grace_s)
        metadata["deletionTimestamp"] = timestamp(now_us + grace * 1_000_000)
        metadata["deletionGracePeriodSeconds"] = grace
        if metadata.get("generation", 0) > 0:
            metadata["generation"] += 1
        return True

    def _grace_s(self, obj: JsonObject, wanted: int | None) -> int:
        spec, phase = obj.get("spec") or {}, (obj.get("status") or {}).get("phase")
        if not spec.get("nodeName") or phase in ("Failed", "Succeeded"):
            return 0
        grace: int = spec.get("terminationGracePeriodSeconds") or 0 if wanted is None else wanted
        return grace if grace >= 0 else 1

    def _shorten(self, metadata: JsonObject, wanted: int | None) -> bool:
        before: int = metadata.get("deletionGracePeriodSeconds") or 0
        if wanted is None or not 0 <= wanted < before:
            return False
        end = datetime.fromisoformat(metadata["deletionTimestamp"]).timestamp() - before + wanted
        metadata["deletionTimestamp"] = timestamp(int(end) * 1_000_000)
        metadata["deletionGracePeriodSeconds"] = wanted
        return True

    def held(self, obj: JsonObject) -> bool:
        """Finalizers are left, or time."""
        return super().held(obj) or bool(obj["metadata"].get("deletionGracePeriodSeconds"))


class DefinitionLifecycle(PlainLifecycle):
    """Held until the objects that it defines are gone; who deletes it sees that it is (CRD-6)."""

    FINALIZER = "customresourcecleanup.apiextensions.k8s.io"

    def begin(self, obj: JsonObject, *, now_us: int, grace_s: int | None) -> bool:
        """The finalizer comes with the first delete."""
        metadata = obj["metadata"]
        if "deletionTimestamp" in metadata or self.FINALIZER in metadata.get("finalizers", ()):
            return False
        metadata["finalizers"] = [*metadata.get("finalizers", ()), self.FINALIZER]
        return True

    def mark(self, obj: JsonObject, *, now: str) -> None:
        """Terminating, without a grace period."""
        metadata = obj["metadata"]
        if "deletionTimestamp" in metadata:
            return
        metadata["deletionTimestamp"] = now
        conditions = (obj.get("status") or {}).get("conditions") or []
        kept = [one for one in conditions if one.get("type") != "Terminating"]
        message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
        pending = {
            "lastTransitionTime": now,
            "message": message,
            "reason": "InstanceDeletionPending",
            "status": "True",
            "type": "Terminating",
        }
        obj["status"] = {**(obj.get("status") or {}), "conditions": [*kept, pending]}


PLAIN = PlainLifecycle()
LIFECYCLES: Mapping[str, Lifecycle] = {
    "/registry/apiextensions.k8s.io/customresourcedefinitions": DefinitionLifecycle(),
    "/registry/namespaces": NamespaceLifecycle(),
    "/registry/pods": PodLifecycle(),
}


def lifecycle_of(resource: Resource) -> Lifecycle:
    """The rules of a resource."""
    return LIFECYCLES.get(resource.key_prefix, PLAIN)
