"""Cluster roles with an aggregation rule get the rules of the roles that it selects."""

from collections.abc import Iterable

from kinepy import Event, EventType, KeyRange, KeyValue
from kinepy_server.auth.rbac.aggregation import gathered_rules
from kinepy_server.auth.rbac.policy import GROUP
from kinepy_server.context import Context
from kinepy_server.controllers.changing import edit
from kinepy_server.controllers.feed import Feed
from kinepy_server.controllers.places import Place
from kinepy_server.controllers.retries import Retries
from kinepy_server.errors import StatusError
from kinepy_server.objects.codec import decode
from kinepy_server.resources.resource import JsonObject, Resource

NAME = "clusterroles"
ACTOR = "system:serviceaccount:kube-system:clusterrole-aggregation-controller"


async def gather_cluster_roles(context: Context) -> None:
    """Keep the rules of gathering roles right; runs until cancelled."""
    resource = context.registry.lookup(GROUP, "v1", "clusterroles")
    assert resource is not None, "cluster roles are always served"
    gatherer = _Gatherer(context, resource)
    async with Feed(context.store, KeyRange.prefix(resource.list_prefix(""))) as feed:
        async for page in feed.existing():
            gatherer.note(page)
        while True:
            wait_s = await gatherer.settle()
            gatherer.hear(await feed.changes(timeout_s=wait_s))


class _Gatherer:
    """All cluster roles, and which of them must be written."""

    def __init__(self, context: Context, resource: Resource) -> None:
        self._context, self._resource = context, resource
        self._roles: dict[bytes, JsonObject] = {}
        self._revisions: dict[bytes, int] = {}
        self._retries = Retries()

    def note(self, found: Iterable[KeyValue]) -> None:
        """Roles as they are now; what is older than what is known says nothing."""
        for kv in found:
            if kv.mod_revision > self._revisions.get(kv.key, 0):
                self._revisions[kv.key] = kv.mod_revision
                self._roles[kv.key] = decode(self._resource, kv)

    def hear(self, events: Iterable[Event]) -> None:
        """Roles were written or deleted."""
        for event in events:
            if event.type is EventType.PUT:
                self.note((event.kv,))
            elif event.kv.mod_revision > self._revisions.get(event.kv.key, 0):
                self._roles.pop(event.kv.key, None)
                self._revisions.pop(event.kv.key, None)
                self._retries.done(event.kv.key)

    async def settle(self) -> float | None:
        """Write what must be written; returns how long to wait until what failed is tried again."""
        clock = self._context.clock
        self._retries.take(now=clock.monotonic())
        roles = [self._roles[key] for key in sorted(self._roles)]
        for key, role in list(self._roles.items()):
            rules = gathered_rules(role, roles)
            if rules is None or rules == (role.get("rules") or []):
                continue
            try:
                await self._write(role, rules)
            except StatusError as error:
                if error.code == 404:
                    continue
                self._context.controllers.failed(NAME)
                self._retries.again(key, now=clock.monotonic())
            else:
                self._retries.done(key)
        return self._retries.wait_s(now=clock.monotonic())

    async def _write(self, role: JsonObject, rules: list[JsonObject]) -> None:
        def set_rules(found: JsonObject) -> bool:
            if (found.get("rules") or []) == rules:
                return False
            found["rules"] = rules or None
            return True

        metadata = role["metadata"]
        place = Place(self._resource, "", metadata["name"])
        await edit(self._context, place, uid=metadata["uid"], change_it=set_rules, actor=ACTOR)
        self._context.controllers.did(NAME, "gather")
