"""Creating an object only while its namespace takes new ones."""

from kinepy import KeyValue
from kinepy.errors import GuardFailed
from kinepy_server.context import Context
from kinepy_server.objects.namespaces import require_namespace
from kinepy_server.resources.resource import Resource


async def create_guarded(
    context: Context, resource: Resource, key: bytes, *, value: bytes, actor: str, guard: KeyValue | None
) -> KeyValue:
    """Create an object. `guard` is its namespace as it was found, see `require_namespace`.

    A namespace that has changed since, such as in its labels, is looked at again. Raises 403 or 404 when it
    takes nothing new any more, `KeyExists`.
    """
    while True:
        try:
            return await context.store.create(key, value, actor=actor, guard=guard)
        except GuardFailed as changed:
            # This read waits until the process knows what the guard was compared with.
            await context.store.get(changed.key)
            *_, namespace, name = key.decode().split("/")
            guard = await require_namespace(context, resource, namespace, name=name)
