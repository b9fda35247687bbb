"""Objects of definitions with a conversion webhook, which are shown in another version than they are stored in.

Asking a webhook waits, reading stored bytes does not. So reads let everything they are about to show be
converted at once by `prepare`. Decisions, which may be repeated, just ask: what is not known yet raises
`ConversionNeeded`, and `converting` asks the webhook and decides again. A write has its object converted into the
stored form and back before anything is stored: what cannot be answered is not done.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import orjson

from kinepy import KeyValue
from kinepy_server.errors import StatusError
from kinepy_server.objects.codec import canonical, face_of, is_in_version, keep_converted, renamed
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.resources.waiting import ANSWERS, Needed

Result = TypeVar("Result")
_TRIES = 32
_WITH_EXPRESSIONS = frozenset(("admissionregistration.k8s.io", "apiextensions.k8s.io"))
"""Groups whose objects hold expressions, which may be long."""
_SORTED = orjson.OPT_SORT_KEYS


def may_need(resource: Resource) -> bool:
    """Whether decisions about a resource's objects may need something that must be waited for, see `converting`."""
    return resource.shape is not None or resource.group in _WITH_EXPRESSIONS


async def prepare(
    resource: Resource, kvs: Iterable[KeyValue | None], *, lasting: Iterable[KeyValue | None] = ()
) -> None:
    """Convert what is to be shown in a resource's version. Raises the 500 of a webhook that fails.

    For `lasting` ones an earlier conversion will do, however long ago it was.
    """
    converter = resource.converter
    if converter is None:
        return
    missing = [kv for kv in kvs if kv is not None and _is_missing(resource, kv, era=converter.era())]
    missing += [kv for kv in lasting if kv is not None and _is_missing(resource, kv, era=0)]
    if not missing:
        return
    objects = await converter.convert_shared([kv.value for kv in missing], resource.api_version)
    for kv, obj in zip(missing, objects, strict=True):
        keep_converted(resource, kv, obj)


def _is_missing(resource: Resource, kv: KeyValue, *, era: int) -> bool:
    return (
        bool(kv.value)
        and not is_in_version(kv.value, resource.api_version, resource.kind)
        and face_of(resource, kv, era=era) is None
    )


@dataclass(slots=True)
class StoredForm:
    """The value to store of an object, and how a webhook shows it in the version of the write, if one does."""

    value: bytes
    shown: JsonObject | None = None

    def renamed(self, value: bytes, name: str) -> "StoredForm":
        """The form of an object of another name; `value` is the value before anything was added to it."""
        shown = self.shown
        if shown is not None:
            shown = {**shown, "metadata": {**shown["metadata"], "name": name}}
        return StoredForm(renamed(value, name), shown)

    def keep(self, resource: Resource, kv: KeyValue) -> None:
        """Let the record that the value has become be shown so; once."""
        if self.shown is not None:
            keep_converted(resource, kv, self.shown)


async def stored_form(resource: Resource, value: bytes) -> StoredForm:
    """A value that `encode` made, in the version in which it is stored."""
    converter, version = resource.converter, resource.storage_api_version
    if converter is None or is_in_version(value, version, resource.kind):
        return StoredForm(value)
    [obj] = await converter.convert([value], version)
    stored = canonical(version, resource.kind, obj)
    [shown] = await converter.convert([stored], resource.api_version)
    return StoredForm(stored, shown)


def converted_now(resource: Resource, obj: JsonObject) -> JsonObject:
    """An object of any version in a resource's. Raises `ConversionNeeded` unless that is known."""
    assert resource.converter is not None, "only asked of resources with a webhook"
    return resource.converter.known(orjson.dumps(obj, option=_SORTED), resource.api_version)


async def converting(attempt: Callable[[], Awaitable[Result]]) -> Result:
    """Try, and try again with the conversions, and whatever else, that turned out to be needed."""
    token = ANSWERS.set({}) if ANSWERS.get() is None else None
    try:
        for _ in range(_TRIES):
            try:
                return await attempt()
            except Needed as needed:
                await needed.supply()
        raise StatusError(500, "", "an object could not be converted: too many conversions are needed")
    finally:
        if token is not None:
            ANSWERS.reset(token)
