"""What has become of an object's owners."""

from collections.abc import Sequence
from enum import Enum, auto

from kinepy_server.context import Context
from kinepy_server.controllers.garbage.graph import Owner, metadata_of, waits_for
from kinepy_server.controllers.places import Place
from kinepy_server.objects.metadata import FOREGROUND


class OwnerState(Enum):
    """What an owner is to its dependent."""

    SOLID = auto()
    """It is there."""
    WAITING = auto()
    """It is there, and waits for its dependents to be deleted before it goes itself."""
    ABSENT = auto()
    """There is no such object, and never will be again."""
    UNSERVED = auto()
    """Its type is not served here, so nothing is known of it; that may change."""
    UNREACHABLE = auto()
    """A cluster-scoped object names an owner in a namespace, which nobody can find."""


async def owner_states(context: Context, dependent: Place, owners: Sequence[Owner]) -> list[OwnerState]:
    """What the owners of an object are. Absence is told by the newest state of the store alone."""
    return [await _state(context, dependent, owner) for owner in owners]


async def _state(context: Context, dependent: Place, owner: Owner) -> OwnerState:
    resource = context.registry.by_kind(owner.api_version, owner.kind)
    if resource is None:
        return OwnerState.UNSERVED
    if resource.namespaced and not dependent.namespace:
        return OwnerState.UNREACHABLE
    # An owner in a namespace is one in the dependent's namespace.
    key = resource.key(dependent.namespace if resource.namespaced else "", owner.name)
    # What this process knows to be there is there, or its end is still to be told.
    for consistent in (False, True):
        kv = await context.store.get(key, consistent=consistent)
        metadata = metadata_of(kv.value) if kv is not None else {}
        if metadata.get("uid") == owner.uid:
            return OwnerState.WAITING if waits_for(metadata) == FOREGROUND else OwnerState.SOLID
    return OwnerState.ABSENT
