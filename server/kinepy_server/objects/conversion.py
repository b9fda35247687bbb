"""Objects of definitions with a conversion webhook, which are shown in another version than they are stored in.

Asking a webhook waits, reading stored bytes does not. So reads let everything they are about to show be
converted at once by `prepare`. Decisions, which may be repeated, just ask: what is not known yet raises
`ConversionNeeded`, and `converting` asks the webhook and decides again.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import orjson

from kinepy import KeyValue
from kinepy_server.errors import StatusError
from kinepy_server.objects.codec import canonical, face_of, is_in_version, keep_converted
from kinepy_server.resources.resource import ConversionNeeded, JsonObject, Resource

Result = TypeVar("Result")
_TRIES = 32
_SORTED = orjson.OPT_SORT_KEYS


async def prepare(resource: Resource, kvs: Iterable[KeyValue | None]) -> None:
    """Convert what is to be shown in a resource's version. Raises the 500 of a webhook that fails."""
    converter = resource.converter
    if converter is None:
        return
    missing = [
        kv
        for kv in kvs
        if kv is not None
        and kv.value
        and not is_in_version(kv.value, resource.api_version, resource.kind)
        and face_of(resource, kv) is None
    ]
    if not missing:
        return
    objects = await converter.convert([kv.value for kv in missing], resource.api_version)
    for kv, obj in zip(missing, objects, strict=True):
        keep_converted(resource, kv, obj)


async def stored_form(resource: Resource, value: bytes) -> bytes:
    """A value that `encode` made, in the version in which it is stored."""
    converter, version = resource.converter, resource.storage_api_version
    if converter is None or is_in_version(value, version, resource.kind):
        return value
    [obj] = await converter.convert([value], version)
    return canonical(version, resource.kind, obj)


def converted_now(resource: Resource, obj: JsonObject) -> JsonObject:
    """An object of any version in a resource's. Raises `ConversionNeeded` unless that is known."""
    assert resource.converter is not None, "only asked of resources with a webhook"
    return resource.converter.known(orjson.dumps(obj, option=_SORTED), resource.api_version)


async def converting(attempt: Callable[[], Awaitable[Result]]) -> Result:
    """Try, and try again with the conversions that turned out to be needed."""
    for _ in range(_TRIES):
        try:
            return await attempt()
        except ConversionNeeded as needed:
            await needed.supply()
    raise StatusError(500, "", "an object could not be converted: too many conversions are needed")
