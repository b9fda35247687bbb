"""What the tests of reads share: a resource, records as the store holds them, requests."""

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any

import orjson

from kinepy import KeyValue, Revision
from kinepy_server.auth.user import User
from kinepy_server.context import Context
from kinepy_server.objects.codec import encode
from kinepy_server.read import handle_get, handle_list, handle_watch
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


async def stored(context: Context, kind: Resource, name: str, namespace: str = "ns", **members: Any) -> int:
    """Write an object, new or changed; returns its revision. `metadata` members are given as `labels` and so on."""
    metadata = {key: members.pop(key) for key in ("labels", "annotations") if key in members}
    obj = {**object_of(kind, name, namespace, **metadata), **members}
    key = kind.key(namespace if kind.namespaced else "", name)
    return (await context.store.put(key, encode(kind, obj))).mod_revision


async def removed(context: Context, kind: Resource, name: str, namespace: str = "ns") -> int:
    """Delete an object; returns the revision of that."""
    return (await context.store.delete(kind.key(namespace if kind.namespaced else "", name))).revision


async def answer(context: Context, request: Request, kind: Resource) -> Any:
    """The JSON that a get or list answers."""
    handler = handle_get if request.verb == "get" else handle_list
    response = await handler(context, request, kind)
    body = response.body if isinstance(response.body, bytes) else b"".join(response.body)
    return orjson.loads(body)


class Stream:
    """An open watch, read event by event."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._lines: list[bytes] = []

    async def event(self) -> Any:
        """The next event; None at the end of the stream."""
        while not self._lines:
            chunk = await anext(self._chunks, None)
            if chunk is None:
                return None
            self._lines = chunk.splitlines()
        return orjson.loads(self._lines.pop(0))

    async def told(self) -> tuple[str, str, int]:
        """The next event as type, object name and revision."""
        event = await self.event()
        metadata = event["object"]["metadata"]
        return event["type"], metadata.get("name", ""), int(metadata["resourceVersion"])

    async def rest(self) -> list[Any]:
        """Every event up to the end of the stream."""
        events = []
        while (event := await self.event()) is not None:
            events.append(event)
        return events


@asynccontextmanager
async def watching(
    context: Context, kind: Resource, name: str = "", *, namespace: str = "ns", accept: str = "", **query: str
) -> AsyncIterator[Stream]:
    """Open a watch and close it at the end."""
    request = reading(kind, "watch", name, namespace=namespace, query=query)
    request.headers = {"accept": accept} if accept else {}
    response = await handle_watch(context, request, kind)
    async with aclosing(response.chunks) as chunks:  # type: ignore[type-var]
        yield Stream(chunks)
