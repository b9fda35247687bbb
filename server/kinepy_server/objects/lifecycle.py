"""How objects die: what holds them, and what a delete leaves in the meantime (DEL-5, NS-2, NS-4). Pure."""

from collections.abc import Mapping
from typing import Protocol

from kinepy_server.errors import forbidden
from kinepy_server.resources.resource import JsonObject, Resource


class Lifecycle(Protocol):
    """The rules of one type."""

    def check_delete(self, resource: Resource, name: str) -> None:
        """Raises 403 for an object that may not be deleted."""
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


PLAIN = PlainLifecycle()
LIFECYCLES: Mapping[str, Lifecycle] = {"/registry/namespaces": NamespaceLifecycle()}


def lifecycle_of(resource: Resource) -> Lifecycle:
    """The rules of a resource."""
    return LIFECYCLES.get(resource.key_prefix, PLAIN)
