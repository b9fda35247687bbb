"""What is written, as policies and webhooks may change it: an object of a resource, or of a virtual subresource."""

from collections.abc import Sequence
from typing import Any

from kinepy_server.context import Context
from kinepy_server.dynamic_admission.attributes import Attributes
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.schema.decode import decode
from kinepy_server.schema.types import Type, type_named
from kinepy_server.wire.body import decode_value


class ObjectBody:
    """An object of a resource."""

    def __init__(self, context: Context, resource: Resource) -> None:
        self._registry, self._resource = context.registry, resource
        shape = resource.shape
        self.type: Type = type_named(resource.schema) if shape is None else shape.type
        self.is_strict = shape is None
        """Whether fields that the type does not have are an error."""

    def read(self, value: Any) -> tuple[JsonObject, Sequence[str]]:
        """A changed value, of which nothing else is used any more, and its unknown fields. Raises DecodeError."""
        return decode_value(self._resource, self._registry, value)

    def default(self, obj: JsonObject) -> None:
        """The defaults of the type."""
        self._resource.strategy.default(obj)


class VirtualBody:
    """An object of a schema that is stored nowhere, such as a Scale."""

    is_strict = True

    def __init__(self, schema: str, head: JsonObject) -> None:
        self._schema, self._head = schema, head
        self.type = type_named(schema)

    def read(self, value: Any) -> tuple[JsonObject, Sequence[str]]:
        """As for objects of resources."""
        obj, unknown = decode(self._schema, value)
        return {**obj, **self._head}, unknown

    def default(self, obj: JsonObject) -> None:
        """They have none."""


def body_of(context: Context, attributes: Attributes) -> ObjectBody | VirtualBody:
    """What a write writes."""
    if attributes.kind is None:
        return ObjectBody(context, attributes.resource)
    group, version, kind = attributes.kind
    api_version = f"{group}/{version}" if group else version
    return VirtualBody(attributes.schema, {"apiVersion": api_version, "kind": kind})
