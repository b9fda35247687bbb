"""The namespace that a new object is to live in (WR-6, NS-3)."""

import orjson

from kinepy import KeyValue
from kinepy_server.context import Context
from kinepy_server.errors import Cause, StatusError, forbidden, not_found
from kinepy_server.resources.resource import Resource


async def require_namespace(
    context: Context, resource: Resource, namespace: str, *, name: str
) -> KeyValue | None:
    """The namespace, which guards the create; None where there is none to guard it.

    Raises 404 when the namespace does not exist, 403 when it is being deleted. Most creates find it in
    memory; one that seems absent or dying is looked up again in the newest state. The create must happen
    only while the namespace is still this version: so nothing new comes into one that has begun to die,
    whichever process creates it and however long ago it looked.
    """
    if resource.shape is not None and resource.shape.deletion:
        raise forbidden(resource, name, resource.shape.deletion)
    if not resource.namespaced:
        return None
    if context.host is not None:
        await context.host.require(resource, namespace, name=name)
        return None
    namespaces = context.registry.lookup("", "v1", "namespaces")
    assert namespaces is not None, "namespaces are always served"
    key = namespaces.key("", namespace)
    kv = await context.store.get(key, consistent=False)
    if kv is None or is_terminating(kv):
        kv = await context.store.get(key)
    if kv is None:
        raise not_found(namespaces, namespace)
    if is_terminating(kv):
        raise terminating(resource, namespace, name=name)
    return kv


def is_terminating(kv: KeyValue) -> bool:
    """Whether an object is being deleted."""
    # Nearly always the text is absent and nothing needs to be parsed.
    if b'"deletionTimestamp":' not in kv.value:
        return False
    return "deletionTimestamp" in orjson.loads(kv.value)["metadata"]


def terminating(resource: Resource, namespace: str, *, name: str) -> StatusError:
    """403: nothing new in a dying namespace."""
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    cause = Cause("NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace")
    return forbidden(resource, name, why, causes=[cause])
