"""The place where plugins have their say about a new object.

What a plugin needs to know is read first; then it judges and changes objects without waiting, after their
defaults and before their type's own preparations, so that what it adds is owned by nobody.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from kinepy_server.admission.default_class import claim_class, ingress_class
from kinepy_server.admission.limit_ranger import claim_limits, pod_limits
from kinepy_server.admission.priority import pod_priority
from kinepy_server.context import Context
from kinepy_server.resources.resource import JsonObject, Resource

Admit: TypeAlias = Callable[[JsonObject], None]
"""Changes a new object in place, or raises the 403 of a refusal."""
Plugin: TypeAlias = Callable[[Context, Resource, str], Awaitable[Admit | None]]
"""What a plugin does with new objects of a resource in a namespace; None when it has nothing to say."""

PLUGINS: Mapping[str, Sequence[Plugin]] = {
    "/registry/ingress": (ingress_class,),
    "/registry/persistentvolumeclaims": (claim_limits, claim_class),
    "/registry/pods": (pod_limits, pod_priority),
}
"""By key prefix of the resource, in the order in which they are asked."""


async def admission_of(context: Context, resource: Resource, namespace: str) -> Admit | None:
    """What is done with new objects; None for most resources."""
    plugins = PLUGINS.get(resource.key_prefix)
    if plugins is None:
        return None
    found = [await plugin(context, resource, namespace) for plugin in plugins]

    def admit(obj: JsonObject) -> None:
        for one in found:
            if one is not None:
                one(obj)

    return admit
