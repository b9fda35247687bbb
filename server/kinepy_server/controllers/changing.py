"""Changes that controllers make to objects: like a client's update, in the name of the controller manager."""

from collections.abc import Callable

from kinepy import KeyValue
from kinepy_server.apply.managed_fields import Writer
from kinepy_server.context import Context
from kinepy_server.controllers.places import Place
from kinepy_server.errors import not_found
from kinepy_server.objects.codec import decode
from kinepy_server.objects.times import timestamp
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.writes.outcome import Decision, Keep, Outcome, change
from kinepy_server.writes.prepare import prepare_changed
from kinepy_server.writes.versions import ServedVersions

MANAGER = "kube-controller-manager"

Edit = Callable[[JsonObject], bool]
"""Changes an object in place; returns whether it did."""


def writer(context: Context, resource: Resource, *, subresource: str = "") -> Writer:
    """The controllers as managers of fields."""
    now = timestamp(context.clock.now_us())
    return Writer(MANAGER, ServedVersions(context.registry, resource), subresource, now)


async def edit(
    context: Context, place: Place, *, uid: str, change_it: Edit, actor: str, subresource: str = ""
) -> Outcome:
    """Change the object of this uid, on its newest state. Raises 404 when it is gone, 422 when it is not valid."""
    resource = place.resource
    by = writer(context, resource, subresource=subresource)

    def decide(kv: KeyValue | None) -> Decision:
        if kv is None:
            raise not_found(resource, place.name)
        old, new = decode(resource, kv), decode(resource, kv)
        if old["metadata"]["uid"] != uid:
            raise not_found(resource, place.name)
        if not change_it(new):
            return Keep()
        return prepare_changed(resource, new, old, writer=by, warnings=[])

    return await change(
        context, resource.key(place.namespace, place.name), decide, actor=actor, resource=resource
    )
