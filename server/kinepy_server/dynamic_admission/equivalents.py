"""A write in another version of its resource, for rules that name only that version."""

from collections.abc import Iterator
from dataclasses import replace

from kinepy import KeyValue, Revision
from kinepy_server.dynamic_admission.attributes import Attributes
from kinepy_server.dynamic_admission.matching import Matcher
from kinepy_server.objects.codec import decode, encode
from kinepy_server.resources.registry import Registry
from kinepy_server.resources.resource import JsonObject, Resource


def seen_by(matcher: Matcher, attributes: Attributes, registry: Registry) -> Attributes | None:
    """The write as a matcher sees it: in the version that it names; None when it is not about it."""
    if matcher.concerns(attributes):
        return attributes
    if not matcher.takes_equivalents or attributes.kind is not None:
        return None
    for other in _others(attributes.resource, registry):
        seen = replace(attributes, resource=other, asked=attributes.resource)
        if matcher.concerns(seen):
            seen.new = shown_as(attributes.new, attributes.resource, other)
            seen.old = shown_as(attributes.old, attributes.resource, other)
            return seen
    return None


def _others(resource: Resource, registry: Registry) -> Iterator[Resource]:
    group = registry.group(resource.group)
    for version in group.versions if group is not None else ():
        other = registry.lookup(resource.group, version, resource.plural)
        if other is not None and other.version != resource.version:
            yield other


def shown_as(obj: JsonObject | None, resource: Resource, other: Resource) -> JsonObject | None:
    """An object of a resource in the version of another."""
    if obj is None or resource is other:
        return obj
    nowhere = Revision(0)
    shown = decode(other, KeyValue(b"", encode(resource, obj), nowhere, nowhere, 0))
    shown["metadata"].pop("resourceVersion", None)
    if "resourceVersion" in obj["metadata"]:
        shown["metadata"]["resourceVersion"] = obj["metadata"]["resourceVersion"]
    return shown
