"""The status of validating policies: what is wrong with their expressions for the types that they name."""

from collections.abc import Iterable
from functools import partial

from kinepy import Event, EventType, KeyRange, KeyValue
from kinepy_server.apply.apply import apply
from kinepy_server.apply.managed_fields import Writer
from kinepy_server.context import Context
from kinepy_server.controllers.feed import Feed
from kinepy_server.controllers.retries import Retries
from kinepy_server.dynamic_admission.extensions import OWN_GROUP, POLICIES
from kinepy_server.errors import StatusError, not_found
from kinepy_server.objects.codec import decode
from kinepy_server.objects.times import timestamp
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.wire.body import decode_value
from kinepy_server.writes.outcome import Decision, Keep, change
from kinepy_server.writes.prepare import prepare_changed
from kinepy_server.writes.versions import ServedVersions

NAME = "policystatus"
MANAGER = "validatingadmissionpolicy-status-controller"
ACTOR = f"system:serviceaccount:kube-system:{MANAGER}"
_NOT_WRITTEN = frozenset(("spec",))


async def keep_policy_status(context: Context) -> None:
    """Look at every policy whose spec has changed; runs until cancelled."""
    resource = context.registry.lookup(OWN_GROUP, "v1", "validatingadmissionpolicies")
    assert resource is not None, "policies are always served"
    keeper = _Keeper(context, resource)
    async with Feed(context.store, KeyRange.prefix(POLICIES)) as feed:
        async for page in feed.existing():
            keeper.note(page)
        while True:
            wait_s = await keeper.settle()
            keeper.hear(await feed.changes(timeout_s=wait_s))


class _Keeper:
    """The policies that are still to be looked at."""

    def __init__(self, context: Context, resource: Resource) -> None:
        self._context, self._resource = context, resource
        self._waiting: dict[bytes, KeyValue] = {}
        self._failed: dict[bytes, KeyValue] = {}
        self._retries = Retries()

    def note(self, found: Iterable[KeyValue]) -> None:
        """Policies as they are now."""
        for kv in found:
            self._failed.pop(kv.key, None)
            self._waiting[kv.key] = kv

    def hear(self, events: Iterable[Event]) -> None:
        """Policies were written or deleted."""
        for event in events:
            if event.type is EventType.PUT:
                self.note((event.kv,))
            else:
                self._waiting.pop(event.kv.key, None)
                self._failed.pop(event.kv.key, None)
                self._retries.done(event.kv.key)

    async def settle(self) -> float | None:
        """Look at them; returns how long to wait until what failed is tried again."""
        clock = self._context.clock
        for key in self._retries.take(now=clock.monotonic()):
            if key in self._failed:
                self._waiting.setdefault(key, self._failed.pop(key))
        while self._waiting:
            key, kv = self._waiting.popitem()
            try:
                await self._look_at(kv)
            except StatusError as error:
                if error.code == 404:
                    continue
                self._context.controllers.failed(NAME)
                self._failed[key] = kv
                self._retries.again(key, now=clock.monotonic())
            else:
                self._retries.done(key)
        return self._retries.wait_s(now=clock.monotonic())

    async def _look_at(self, kv: KeyValue) -> None:
        policy = decode(self._resource, kv)
        if not _is_new(policy):
            return
        # Most servers have no policies, and should not wait for the language of these.
        from kinepy_server.cel.off_loop import elsewhere
        from kinepy_server.dynamic_admission.type_checking import expression_warnings

        found = await elsewhere(partial(expression_warnings, policy, self._context.registry))
        checking = {"expressionWarnings": found} if found else {}
        status = {"observedGeneration": policy["metadata"]["generation"], "typeChecking": checking}
        await self._write(kv.key, policy, status)
        self._context.controllers.did(NAME, "check")

    async def _write(self, key: bytes, policy: JsonObject, status: JsonObject) -> None:
        context, resource = self._context, self._resource
        now = timestamp(context.clock.now_us())
        writer = Writer(MANAGER, ServedVersions(context.registry, resource), "status", now)
        name, uid = policy["metadata"]["name"], policy["metadata"]["uid"]
        config = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": name},
            "status": status,
        }

        def decide(kv: KeyValue | None) -> Decision:
            old = None if kv is None else decode(resource, kv)
            if kv is None or old is None or old["metadata"]["uid"] != uid:
                raise not_found(resource, name)
            if old["metadata"]["generation"] != status["observedGeneration"]:
                # What it has become meanwhile is looked at next.
                return Keep()
            applied = apply(decode(resource, kv), config, writer=writer, force=True, ignored=_NOT_WRITTEN)
            if applied.object is None:
                return Keep()
            new = decode_value(resource, context.registry, applied.object)[0]
            return prepare_changed(resource, new, old, writer=writer, warnings=[], applied=applied.entries)

        await change(context, key, decide, actor=ACTOR, resource=resource)


def _is_new(policy: JsonObject) -> bool:
    seen: int = (policy.get("status") or {}).get("observedGeneration", 0)
    return bool(policy["metadata"].get("generation", 0) > seen)
