"""What the garbage collector does about one object. Every action is conditional, and harmless when repeated."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from kinepy import KeyValue
from kinepy_server.context import Context
from kinepy_server.controllers.changing import Edit, edit
from kinepy_server.controllers.garbage.edits import unblocked, without_finalizer, without_owners
from kinepy_server.controllers.garbage.graph import Graph, Owner, metadata_of, owners_of, waits_for
from kinepy_server.controllers.garbage.owners import OwnerState, owner_states
from kinepy_server.controllers.places import Place, Places
from kinepy_server.errors import StatusError
from kinepy_server.objects.metadata import FOREGROUND, ORPHAN
from kinepy_server.writes.delete import Deletion
from kinepy_server.writes.delete_options import DeleteOptions

NAME = "garbagecollector"
ACTOR = "system:serviceaccount:kube-system:generic-garbage-collector"
AT_ONCE = 64
"""So many objects are worked on at the same time, so that their writes share commits."""


class Unserved(Exception):
    """The type of the object, or of an owner, is not served here: to be looked at again when it is."""


class Actions:
    """Looks at objects and does what is to be done; the graph tells what depends on them."""

    def __init__(self, context: Context, graph: Graph, places: Places) -> None:
        self._context, self._graph, self._places = context, graph, places

    async def look_at(self, key: bytes) -> None:
        """Bring one object as far as it goes now. Raises `Unserved`, or the StatusError of what failed."""
        kv = await self._context.store.get(key, consistent=False)
        if kv is None:
            return
        metadata = metadata_of(kv.value)
        if "deletionTimestamp" not in metadata and "ownerReferences" not in metadata:
            return
        place = self._places.of(key)
        if place is None:
            raise Unserved
        finalizer = waits_for(metadata)
        if finalizer == ORPHAN:
            await self._orphan(place, metadata["uid"])
        elif finalizer == FOREGROUND:
            await self._finish_foreground(place, key, metadata["uid"])
        elif "deletionTimestamp" not in metadata:
            await self._judge(place, kv, metadata)

    # --- owners that wait

    async def _orphan(self, place: Place, uid: str) -> None:
        """Make the dependents forget an owner, then let it go."""
        keys = sorted(self._graph.dependents(uid))
        for start in range(0, len(keys), AT_ONCE):
            await asyncio.gather(*(self._forget_owner(key, uid) for key in keys[start : start + AT_ONCE]))
        await self._edit(place, uid, without_finalizer(ORPHAN), action="orphan")

    async def _forget_owner(self, key: bytes, owner: str) -> None:
        kv = await self._context.store.get(key, consistent=False)
        place = self._places.of(key)
        if kv is None:
            return
        if place is None:
            raise Unserved
        await self._edit(place, metadata_of(kv.value)["uid"], without_owners((owner,)), action="unlink")

    async def _finish_foreground(self, place: Place, key: bytes, uid: str) -> None:
        """An owner that no dependent holds up any more goes."""
        if self._graph.circular(key):
            await self._edit(place, uid, unblocked, action="unblock")
        elif not self._graph.blocking(uid):
            await self._edit(place, uid, without_finalizer(FOREGROUND), action="finish")

    # --- dependents

    async def _judge(self, place: Place, kv: KeyValue, metadata: Mapping[str, Any]) -> None:
        """Keep, unlink or delete an object by what has become of its owners."""
        owners = owners_of(metadata)
        states = await owner_states(self._context, place, owners)
        if OwnerState.UNREACHABLE in states:
            return
        if OwnerState.UNSERVED in states:
            raise Unserved
        uid = metadata["uid"]
        if OwnerState.SOLID in states:
            await self._unlink(place, uid, owners, states=states)
        elif owners:
            waited_for = OwnerState.WAITING in states and bool(self._graph.dependents(uid))
            if waited_for and any(map(self._graph.waits, self._graph.dependents(uid))):
                # A circle: somebody has to stop waiting.
                await self._edit(place, uid, unblocked, action="unblock")
                kv = await self._context.store.get(kv.key, consistent=False) or kv
            policy = "Foreground" if waited_for else _policy(metadata)
            await self._delete(place, kv, uid=uid, policy=policy)

    async def _unlink(
        self, place: Place, uid: str, owners: Sequence[Owner], *, states: Sequence[OwnerState]
    ) -> None:
        """While one owner lives the object lives, and does not hold up the others."""
        gone = {
            owner.uid for owner, state in zip(owners, states, strict=True) if state is not OwnerState.SOLID
        }
        if gone:
            await self._edit(place, uid, without_owners(gone), action="unlink")

    async def _delete(self, place: Place, kv: KeyValue, *, uid: str, policy: str) -> None:
        # This very version: one that has got another owner since is judged anew.
        options = DeleteOptions(policy=policy, uid=uid, resource_version=str(kv.mod_revision))
        deletion = Deletion(self._context, place.resource, place.name, options=options)
        try:
            await deletion.run(place.namespace, actor=ACTOR)
        except StatusError as error:
            if error.code != 404:
                raise
            return
        self._context.controllers.did(NAME, "delete")

    async def _edit(self, place: Place, uid: str, change: Edit, *, action: str) -> None:
        """Change an object; one that is gone needs no change."""
        try:
            await edit(self._context, place, uid=uid, change_it=change, actor=ACTOR)
        except StatusError as error:
            if error.code != 404:
                raise
            return
        self._context.controllers.did(NAME, action)


def _policy(metadata: Mapping[str, Any]) -> str:
    """What the object itself asks for by its finalizers."""
    finalizers = metadata.get("finalizers") or ()
    return "Orphan" if ORPHAN in finalizers else "Foreground" if FOREGROUND in finalizers else "Background"
