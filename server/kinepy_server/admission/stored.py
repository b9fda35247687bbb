"""The objects that plugins look at."""

from collections.abc import Sequence

import orjson

from kinepy import KeyRange
from kinepy_server.context import Context
from kinepy_server.resources.resource import JsonObject


async def stored_objects(
    context: Context, kind: tuple[str, str, str], namespace: str = ""
) -> Sequence[JsonObject]:
    """All objects of a group, version and plural, as far as this process knows them."""
    resource = context.registry.lookup(*kind)
    assert resource is not None, "what plugins look at is always served"
    found = await context.store.range(KeyRange.prefix(resource.list_prefix(namespace)), consistent=False)
    return [orjson.loads(kv.value) for kv in found.items]
