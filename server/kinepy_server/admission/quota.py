"""ResourceQuotas: a new object is charged to the quotas of its namespace before it is stored.

What is used stands in a quota's status and is changed by compare and write, so that no two writers of any
process spend the same remainder. It is counted anew when it was never counted, and before anybody is refused: so
what was deleted, or charged but never stored, does not stand in the way.
"""

from collections.abc import Awaitable, Callable, Mapping
from decimal import Decimal
from functools import lru_cache

import orjson

from kinepy import KeyRange, KeyValue
from kinepy.errors import KeyNotFound, RevisionConflict
from kinepy_server.admission.scopes import in_scopes
from kinepy_server.admission.usage import measures, usage_of
from kinepy_server.context import Context
from kinepy_server.errors import forbidden
from kinepy_server.objects.codec import decode, encode
from kinepy_server.paging import every_page
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.schema.quantity import canonical, quantity_value

ACTOR = "kinepy resource-quota"


async def charge_of(
    context: Context, resource: Resource, namespace: str, *, pretend: bool
) -> Callable[[bytes], Awaitable[bytes]] | None:
    """What charges a new object's value to its namespace's quotas; None when there are none."""
    if not resource.namespaced:
        return None
    quotas = context.registry.lookup("", "v1", "resourcequotas")
    assert quotas is not None, "quotas are always served"
    keys = _keys(quotas.key_prefix, namespace)
    # Most namespaces have none, and this is asked for every object that is made.
    if not (await context.store.count(keys, consistent=False)).count:
        return None
    found = await context.store.range(keys, consistent=False)
    charging = _Charging(context, quotas, resource, namespace=namespace)

    async def charge(value: bytes) -> bytes:
        obj = orjson.loads(value)
        for kv in found.items:
            await charging.charge(kv, obj, pretend=pretend)
        return value

    return charge


@lru_cache(maxsize=4096)
def _keys(prefix: str, namespace: str) -> KeyRange:
    return KeyRange.prefix(f"{prefix}/{namespace}/".encode())


class _Charging:
    """Charging objects of one resource in one namespace."""

    def __init__(self, context: Context, quotas: Resource, resource: Resource, *, namespace: str) -> None:
        self._context, self._store = context, context.store
        self._quotas, self._resource, self._namespace = quotas, resource, namespace
        self._measured = measures(resource)

    async def charge(self, kv: KeyValue | None, obj: JsonObject, *, pretend: bool) -> None:
        """Charge an object to a quota, again until nobody comes between. Raises 403."""
        counted = False
        while kv is not None:
            quota = decode(self._quotas, kv)
            hard: Mapping[str, str] = (quota.get("spec") or {}).get("hard") or {}
            names = [name for name in hard if self._measured(name)]
            if not names or not in_scopes(quota, obj):
                return
            status = quota.setdefault("status", {})
            if not counted and (status.get("hard") != hard or self._exceeded(quota, obj, names)):
                status["used"], counted = await self._counted(quota), True
            status["hard"] = dict(hard)
            if self._exceeded(quota, obj, names):
                raise self._refused(quota, obj, names)
            if pretend:
                return
            self._add(quota, obj, names)
            if await self._written(kv, quota):
                return
            kv = await self._store.get(kv.key)

    def _exceeded(self, quota: JsonObject, obj: JsonObject, names: list[str]) -> list[str]:
        """The names of which too little is left."""
        used = (quota.get("status") or {}).get("used") or {}
        asked = usage_of(self._resource, obj)
        hard = quota["spec"]["hard"]
        return [
            name
            for name in sorted(names)
            if asked.get(name)
            and quantity_value(used.get(name, "0")) + asked[name] > quantity_value(hard[name])
        ]

    def _add(self, quota: JsonObject, obj: JsonObject, names: list[str]) -> None:
        asked, used = usage_of(self._resource, obj), dict(quota["status"].get("used") or {})
        for name in names:
            total = quantity_value(used.get(name, "0")) + asked.get(name, Decimal(0))
            used[name] = _text(total, quota["spec"]["hard"][name])
        quota["status"]["used"] = used

    async def _counted(self, quota: JsonObject) -> dict[str, str]:
        """What all objects of the namespace use of a quota."""
        hard = quota["spec"]["hard"]
        totals = dict.fromkeys(hard, Decimal(0))
        for resource in self._context.registry.stored():
            measured = measures(resource)
            if not resource.namespaced or not any(map(measured, hard)):
                continue
            objects = KeyRange.prefix(resource.list_prefix(self._namespace))
            async for page in every_page(self._store, objects):
                for obj in (orjson.loads(kv.value) for kv in page):
                    if in_scopes(quota, obj):
                        _add_to(totals, usage_of(resource, obj))
        return {name: _text(value, hard[name]) for name, value in totals.items()}

    async def _written(self, kv: KeyValue, quota: JsonObject) -> bool:
        value = encode(self._quotas, quota)
        if value == kv.value:
            return True
        try:
            await self._store.update(kv.key, value, expect=kv.mod_revision, actor=ACTOR)
        except (RevisionConflict, KeyNotFound):
            return False
        return True

    def _refused(self, quota: JsonObject, obj: JsonObject, names: list[str]) -> Exception:
        exceeded = self._exceeded(quota, obj, names)
        asked, used, hard = usage_of(self._resource, obj), quota["status"]["used"], quota["spec"]["hard"]
        parts = (
            ",".join(f"{name}={_text(asked[name], hard[name])}" for name in exceeded),
            ",".join(f"{name}={used.get(name, '0')}" for name in exceeded),
            ",".join(f"{name}={hard[name]}" for name in exceeded),
        )
        why = "exceeded quota: {}, requested: {}, used: {}, limited: {}".format(
            quota["metadata"]["name"], *parts
        )
        return forbidden(self._resource, obj["metadata"].get("name", ""), why)


def _add_to(totals: dict[str, Decimal], used: Mapping[str, Decimal]) -> None:
    for name, value in used.items():
        if name in totals:
            totals[name] += value


def _text(value: Decimal, like: str) -> str:
    """A number as a quantity, in binary units when it is large and what it is compared with is."""
    if like.endswith("i") and value and value % 1024 == 0:
        return canonical(f"{int(value) // 1024}Ki")
    return canonical(f"{value:f}")
