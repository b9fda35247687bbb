"""What the tests of reads share: a resource, records as the store holds them, requests."""

from collections.abc import Mapping
from typing import Any

from kinepy import KeyValue, Revision
from kinepy_server.auth.user import User
from kinepy_server.objects.codec import encode
from kinepy_server.request import Request
from kinepy_server.resources.builtins import builtin_registry
from kinepy_server.resources.resource import JsonObject, Resource

ADMIN = User("admin", ("system:masters",))
CREATED = "2026-01-02T03:04:05Z"


def resource(plural: str = "configmaps", group: str = "", version: str = "v1") -> Resource:
    """A built-in resource."""
    found = builtin_registry().lookup(group, version, plural)
    assert found is not None
    return found


def object_of(kind: Resource, name: str, namespace: str = "ns", **metadata: Any) -> JsonObject:
    """A small object as the server would store it."""
    identity = {"name": name, "uid": f"uid-{name}", "creationTimestamp": CREATED, **metadata}
    if kind.namespaced:
        identity["namespace"] = namespace
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": identity}


def record(kind: Resource, obj: JsonObject, revision: int = 7) -> KeyValue:
    """The record of an object, as the store returns it."""
    metadata = obj["metadata"]
    key = kind.key(metadata.get("namespace", ""), metadata["name"])
    return KeyValue(key, encode(kind, obj), Revision(revision), Revision(revision), 1)


def reading(
    kind: Resource,
    verb: str,
    name: str = "",
    *,
    namespace: str = "ns",
    query: Mapping[str, str] | None = None,
) -> Request:
    """A get, list or watch of a resource."""
    return Request(
        "GET",
        "",
        {key: [value] for key, value in (query or {}).items()},
        {},
        ADMIN,
        is_resource=True,
        verb=verb,
        group=kind.group,
        version=kind.version,
        resource=kind.plural,
        namespace=namespace if kind.namespaced else "",
        name=name,
    )
