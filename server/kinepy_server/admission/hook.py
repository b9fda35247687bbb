"""The place where plugins have their say about a new object.

What a plugin needs to know is read first; then it judges and changes objects without waiting, after their
defaults and before their type's own preparations, so that what it adds is owned by nobody.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from kinepy_server.admission.limit_ranger import claim_limits, pod_limits
from kinepy_server.context import Context
from kinepy_server.resources.resource import JsonObject, Resource

Admit: TypeAlias = Callable[[JsonObject], None]
"""Changes a new object in place, or raises the 403 of a refusal."""
Plugin: TypeAlias = Callable[[Context, Resource, str], Awaitable[Admit | None]]
"""What a plugin does with new objects of a resource in a namespace; None when it has nothing to say."""

PLUGINS: Mapping[str, Plugin] = {
    "/registry/pods": pod_limits,
    "/registry/persistentvolumeclaims": claim_limits,
}
"""By key prefix of the resource."""


async def admission_of(context: Context, resource: Resource, namespace: str) -> Admit | None:
    """What is done with new objects; None for most resources."""
    plugin = PLUGINS.get(resource.key_prefix)
    return await plugin(context, resource, namespace) if plugin is not None else None
