"""Which resource a stored key belongs to."""

from typing import NamedTuple

from kinepy_server.context import Context
from kinepy_server.resources.registry import Registry
from kinepy_server.resources.resource import Resource


class Place(NamedTuple):
    """An object's address. `namespace` is empty for cluster-scoped objects."""

    resource: Resource
    namespace: str
    name: str


class Places:
    """Finds the resources of keys, in whatever registry the server has by now."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._registry: Registry | None = None
        self._by_prefix: dict[str, Resource] = {}

    def renewed(self) -> bool:
        """Whether the server knows other resources than at the last call."""
        registry = self._context.registry
        if registry is self._registry:
            return False
        self._registry = registry
        self._by_prefix = {resource.key_prefix: resource for resource in registry.stored()}
        return True

    def of(self, key: bytes) -> Place | None:
        """Where an object lives; None when its resource is not served."""
        prefix, _, name = key.decode(errors="replace").rpartition("/")
        resource = self._by_prefix.get(prefix)
        if resource is not None and not resource.namespaced:
            return Place(resource, "", name)
        prefix, _, namespace = prefix.rpartition("/")
        resource = self._by_prefix.get(prefix)
        if resource is not None and resource.namespaced:
            return Place(resource, namespace, name)
        return None
