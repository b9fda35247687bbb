"""What the tests of controllers do with objects."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from kinepy import KeyRange, Revision
from kinepy_server.context import Context
from kinepy_server.controllers.garbage.graph import metadata_of
from tests.http.writing import Api

CONFIGMAPS = "/api/v1/namespaces/{namespace}/configmaps"
WAIT_S = 20


def owner(reply: Any, *, blocks: bool = False, kind: str = "ConfigMap", **changed: Any) -> dict[str, Any]:
    """A reference to an object of an answer."""
    metadata = reply.body["metadata"]
    found = {"apiVersion": "v1", "kind": kind, "name": metadata["name"], "uid": metadata["uid"], **changed}
    return {**found, "blockOwnerDeletion": True} if blocks else found


async def make(api: Api, name: str, *owners: Any, namespace: str = "default", **metadata: Any) -> Any:
    """Create a ConfigMap that has owners."""
    body = {"metadata": {"name": name, "ownerReferences": list(owners), **metadata}}
    reply = await api.post(CONFIGMAPS.format(namespace=namespace), body)
    assert reply.code == 201, reply.body
    return reply


async def delete(api: Api, name: str, policy: str = "Background", namespace: str = "default") -> Any:
    """Delete a ConfigMap."""
    path = CONFIGMAPS.format(namespace=namespace)
    return await api.delete(f"{path}/{name}", {"propagationPolicy": policy})


def key_of(name: str, namespace: str = "default") -> bytes:
    """The key of a ConfigMap."""
    return f"/registry/configmaps/{namespace}/{name}".encode()


async def until(context: Context, met: Callable[[dict[bytes, Any]], bool]) -> dict[bytes, Any]:
    """Wait until the metadata of all objects meet a condition; returns them by key."""
    everything = KeyRange.prefix(b"/registry/")
    async with asyncio.timeout(WAIT_S), context.store.watch(everything) as watch:
        while True:
            found = await context.store.range(everything)
            objects = {kv.key: metadata_of(kv.value) for kv in found.items}
            if met(objects):
                return objects
            await watch.next(timeout_s=1)


async def gone(context: Context, *names: str) -> dict[bytes, Any]:
    """Wait until ConfigMaps are gone."""
    return await until(context, lambda objects: not any(key_of(name) in objects for name in names))


async def settled(context: Context) -> None:
    """Wait until the garbage collector has seen, and done, all that there is to do now.

    A dependent of an object that never was is garbage by all means: when it is gone, what came before it was
    looked at.
    """
    stranger = {"apiVersion": "v1", "kind": "ConfigMap", "name": "never", "uid": "never-was"}
    key = key_of("canary")
    value = (
        b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"canary","namespace":"default",'
        b'"ownerReferences":[%b],"uid":"canary"}}' % _json(stranger)
    )
    await context.store.create(key, value)
    await gone(context, "canary")


def _json(value: Any) -> bytes:
    import orjson

    return orjson.dumps(value)


async def names(context: Context, namespace: str = "default") -> list[str]:
    """The names of the ConfigMaps there are."""
    found = await context.store.range(KeyRange.prefix(key_of("", namespace)), keys_only=True)
    return [kv.key.rpartition(b"/")[2].decode() for kv in found.items]


async def history(context: Context, start: Revision, upto: Revision) -> Sequence[Any]:
    """What happened from a revision to another."""
    events: list[Any] = []
    async with context.store.watch(KeyRange.prefix(b"/registry/"), start=start) as watch:
        async with asyncio.timeout(WAIT_S):
            while watch.progress < upto:
                batch = await watch.next(timeout_s=0.1)
                events += batch.events if batch else ()
    return events
