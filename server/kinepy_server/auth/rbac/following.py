"""Keeping a policy as the store has it."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from kinepy import Event, EventType, KeyRange, KeyValue, Mirror, Store
from kinepy_server.auth.rbac.authorizer import RbacAuthorizer
from kinepy_server.auth.rbac.policy import GROUP, Policy
from kinepy_server.resources.registry import Registry

PLURALS = ("roles", "clusterroles", "rolebindings", "clusterrolebindings")


@asynccontextmanager
async def following_rbac(store: Store, registry: Registry) -> AsyncIterator[RbacAuthorizer]:
    """An authorizer that knows the store's roles and bindings, and hears of their changes until the block ends."""
    policy = Policy()
    authorizer = RbacAuthorizer(policy)
    mirrors = []
    async with AsyncExitStack() as stack:
        for plural in PLURALS:
            resource = registry.lookup(GROUP, "v1", plural)
            assert resource is not None, f"{plural} are always served"
            prefix = resource.list_prefix("")
            follower = _Follower(policy, plural, prefix_bytes=len(prefix), changed=authorizer.forget)
            mirror = Mirror(store, KeyRange.prefix(prefix), on_change=follower.hear)
            await stack.enter_async_context(mirror)
            for kv in mirror.values():
                follower.put(kv)
            mirrors.append(mirror)
        authorizer.mirrors = mirrors
        yield authorizer


class _Follower:
    """Tells a policy of one resource's objects."""

    def __init__(
        self, policy: Policy, plural: str, *, prefix_bytes: int, changed: Callable[[], None]
    ) -> None:
        roles = plural.endswith("roles")
        self._put = policy.put_role if roles else policy.put_binding
        self._remove = policy.remove_role if roles else policy.remove_binding
        self._prefix_bytes, self._changed = prefix_bytes, changed

    def hear(self, event: Event) -> None:
        """Take over a change."""
        if event.type is EventType.PUT:
            self.put(event.kv)
        else:
            self._remove(*self._place(event.kv.key))
            self._changed()

    def put(self, kv: KeyValue) -> None:
        """Take over an object."""
        self._put(*self._place(kv.key), kv.value)
        self._changed()

    def _place(self, key: bytes) -> tuple[str, str]:
        namespace, _, name = key[self._prefix_bytes :].decode().rpartition("/")
        return namespace, name
