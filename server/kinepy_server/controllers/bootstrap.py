"""The objects that every server has from its first start."""

from kinepy.errors import KeyExists
from kinepy_server.apply.managed_fields import Writer
from kinepy_server.context import Context
from kinepy_server.objects.times import timestamp
from kinepy_server.writes.prepare import prepare_new
from kinepy_server.writes.versions import ServedVersions

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
MANAGER = "kinepy"


async def make_bootstrap_objects(context: Context) -> None:
    """Make the system's namespaces. Of many processes that start at once one makes each, the others find it."""
    resource = context.registry.lookup("", "v1", "namespaces")
    assert resource is not None, "namespaces are always served"
    for name in NAMESPACES:
        key = resource.key("", name)
        if await context.store.get(key) is not None:
            continue
        versions = ServedVersions(context.registry, resource)
        writer = Writer(MANAGER, versions, "", timestamp(context.clock.now_us()))
        value = prepare_new(resource, {"metadata": {"name": name}}, writer, warnings=[])
        try:
            await context.store.create(key, value, actor=MANAGER)
        except KeyExists:
            continue
