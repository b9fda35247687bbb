"""The served versions of a resource, as managedFields need them."""

from functools import cache
from typing import Any

import orjson

from kinepy_server.apply.versions import Version
from kinepy_server.objects.conversion import converted_now
from kinepy_server.resources.registry import Registry
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.schema.decode import empty_object
from kinepy_server.schema.types import Type, type_named


class ServedVersions:
    """The versions of one resource, seen from one of them."""

    __slots__ = ("_registry", "_resource", "api_version")

    def __init__(self, registry: Registry, resource: Resource) -> None:
        self._registry, self._resource = registry, resource
        self.api_version = resource.api_version

    @property
    def type(self) -> Type:
        """The type of the own version."""
        return _type(self._resource)

    @property
    def fixed(self) -> bool:
        """Whether the types never change: of built-ins."""
        return self._resource.strategic_merge

    @property
    def empty(self) -> JsonObject:
        """An object that nothing was written into."""
        resource = self._resource
        if resource.shape is not None:
            return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {}}
        return _empty(resource.schema)

    def find(self, api_version: str) -> Version | None:
        """A version by its name, or None when it is not served (any more)."""
        if api_version == self.api_version:
            return Version(self.type)
        group, _, version = api_version.rpartition("/")
        here, there = self._resource, self._registry.lookup(group, version, self._resource.plural)
        if there is None or there.key_prefix != here.key_prefix:
            return None
        return Version(
            _type(there),
            lambda obj: _converted(obj, source=here, target=there),
            lambda obj: _converted(obj, source=there, target=here),
        )


def _type(resource: Resource) -> Type:
    return type_named(resource.schema) if resource.shape is None else resource.shape.type


@cache
def _empty(schema: str) -> JsonObject:
    value: JsonObject = empty_object(schema)
    return value


def _converted(obj: JsonObject, *, source: Resource, target: Resource) -> JsonObject:
    # A copy, since conversions may share parts with what they convert.
    value: Any = orjson.loads(orjson.dumps(obj))
    if target.converter is not None:
        value = converted_now(target, value)
    if source.to_storage is not None:
        value = source.to_storage(value)
    if target.from_storage is not None:
        value = target.from_storage(value)
    return {**value, "apiVersion": target.api_version}
