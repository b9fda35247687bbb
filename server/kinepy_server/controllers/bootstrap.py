"""The objects that every server has from its first start."""

import asyncio
from collections.abc import Iterator, Sequence

from kinepy.errors import KeyExists
from kinepy_server.aggregation.apiservice import GROUP, ON_START, PLURAL, VERSION
from kinepy_server.aggregation.priorities import built_in_services, own_service
from kinepy_server.apply.managed_fields import Writer
from kinepy_server.context import Context
from kinepy_server.controllers.accounts import ACCOUNT
from kinepy_server.controllers.bootstrap_service import service_objects
from kinepy_server.objects.times import timestamp
from kinepy_server.resources.registry import Registry
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.writes.prepare import prepare_new
from kinepy_server.writes.versions import ServedVersions

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
MANAGER = "kinepy"
SERVICE_MANAGER = "kube-apiserver"


async def make_bootstrap_objects(context: Context) -> None:
    """Make what is missing. Of many processes that start at once one makes each, the others find it."""
    addresses = (context.settings.advertised_address, context.served.address)
    found = [*bootstrap_objects(context.registry, addresses)]
    await asyncio.gather(*(_make(context, one) for one in found))


async def _make(context: Context, wanted: tuple[Resource, JsonObject, str]) -> None:
    resource, obj, manager = wanted
    metadata = obj["metadata"]
    key = resource.key(metadata.get("namespace", ""), metadata["name"])
    if await context.store.get(key) is not None:
        return
    versions = ServedVersions(context.registry, resource)
    writer = Writer(manager, versions, "", timestamp(context.clock.now_us()))
    value = prepare_new(resource, obj, writer, warnings=[])
    try:
        await context.store.create(key, value, actor=MANAGER)
    except KeyExists:
        return


def bootstrap_objects(
    registry: Registry, addresses: Sequence[str]
) -> Iterator[tuple[Resource, JsonObject, str]]:
    """The objects, each with its resource and the manager of its fields."""
    namespaces = registry.lookup("", "v1", "namespaces")
    assert namespaces is not None, "namespaces are always served"
    for name in NAMESPACES:
        yield namespaces, {"metadata": {"name": name}}, MANAGER
    for (group, version, plural), obj in service_objects(addresses):
        resource = registry.lookup(group, version, plural)
        if resource is not None:
            yield resource, obj, SERVICE_MANAGER
    services = registry.lookup(GROUP, VERSION, PLURAL)
    assert services is not None, "APIServices are always served"
    for group, version in built_in_services(registry):
        yield services, own_service(group, version, managed=ON_START), SERVICE_MANAGER


def lasting_keys(registry: Registry) -> set[bytes]:
    """The keys of what every server has after its first start, controllers and all."""
    keys = {
        resource.key(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        for resource, obj, _ in bootstrap_objects(registry, ())
    }
    accounts = registry.lookup("", "v1", "serviceaccounts")
    assert accounts is not None, "service accounts are always served"
    return keys | {accounts.key(namespace, ACCOUNT) for namespace in NAMESPACES}
