"""The place where plugins have their say about a new object.

What a plugin needs to know is read first; then it judges and changes objects without waiting, after their
defaults and before their type's own preparations, so that what it adds is owned by nobody.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from kinepy_server.admission.account import pod_account
from kinepy_server.admission.default_class import claim_class, ingress_class
from kinepy_server.admission.limit_ranger import claim_limits, pod_limits
from kinepy_server.admission.priority import pod_priority
from kinepy_server.context import Context
from kinepy_server.resources.resource import JsonObject, Resource

Admit: TypeAlias = Callable[[JsonObject], None]
"""Changes a new object in place, or raises the 403 of a refusal."""
Plugin: TypeAlias = Callable[[Context, Resource, JsonObject], Awaitable[Admit | None]]
"""What a plugin does with a new object, which it may look at only: what it changes is the `Admit`'s argument, the
same object or one made from the same request. None when it has nothing to say."""

PLUGINS: Mapping[str, Sequence[Plugin]] = {
    "/registry/ingress": (ingress_class,),
    "/registry/persistentvolumeclaims": (claim_limits, claim_class),
    "/registry/pods": (pod_limits, pod_account, pod_priority),
}
"""By key prefix of the resource, in the order in which they are asked."""


def has_plugins(resource: Resource) -> bool:
    """Whether any plugin looks at new objects of a resource."""
    return resource.key_prefix in PLUGINS


async def admission_of(context: Context, resource: Resource, obj: JsonObject) -> Admit | None:
    """What is done with a new object, whose namespace is settled; None for most resources."""
    plugins = PLUGINS.get(resource.key_prefix)
    if plugins is None:
        return None
    found = [await plugin(context, resource, obj) for plugin in plugins]

    def admit(obj: JsonObject) -> None:
        for one in found:
            if one is not None:
                one(obj)

    return admit
