"""Objects as they are."""

import asyncio
from collections.abc import Sequence
from functools import cache

import orjson

from kinepy import KeyValue
from kinepy_server.objects.codec import items_bytes, object_bytes, object_bytes_at
from kinepy_server.read.framing import JsonLines
from kinepy_server.read.view import CHUNK_ITEMS, ListMeta, bookmark_metadata
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.schema.decode import empty_object


class PlainView(JsonLines):
    """Whole objects: nothing is parsed."""

    def __init__(self, resource: Resource) -> None:
        self._resource = resource
        self.line_key = resource.form

    def one(self, kv: KeyValue) -> bytes:
        """The object."""
        return object_bytes(self._resource, kv)

    async def many(self, kvs: Sequence[KeyValue], meta: ListMeta) -> Sequence[bytes]:
        """The typed list."""
        resource = self._resource
        metadata = meta.encode(always_continue=resource.list_items_carry_kind)
        kind = f'{{"kind":"{resource.list_kind}","apiVersion":"{resource.api_version}","metadata":'
        parts = [kind.encode(), metadata, b',"items":[']
        for start in range(0, len(kvs), CHUNK_ITEMS):
            if start:
                parts.append(b",")
                await asyncio.sleep(0)
            parts.append(b",".join(items_bytes(resource, kvs[start : start + CHUNK_ITEMS])))
        parts.append(b"]}")
        return parts

    def watched(self, kv: KeyValue, revision: int) -> bytes:
        """The object at an event's revision."""
        return object_bytes_at(self._resource, kv, revision)

    def bookmark(self, revision: int, *, initial_end: bool) -> bytes:
        """An object of the kind with bookmark metadata, and the empty fields that its type always shows."""
        metadata = bookmark_metadata(revision, initial_end=initial_end)
        return b'{"kind":"%b","apiVersion":"%b","metadata":%b%b' % (
            self._resource.kind.encode(),
            self._resource.api_version.encode(),
            metadata,
            _always_shown(self._resource.schema, orjson.dumps(self._resource.bookmark_values))
            if self._resource.shape is None
            else b"}",
        )


@cache
def _always_shown(schema: str, values: bytes) -> bytes:
    """The members that an object of a schema has besides its metadata though nothing was set, and its end;
    `values` is the JSON of those that are not empty."""
    members = {name: value for name, value in empty_object(schema).items() if name != "metadata"}
    _put(members, orjson.loads(values))
    return b"," + orjson.dumps(members)[1:] if members else b"}"


def _put(members: JsonObject, values: JsonObject) -> None:
    for name, value in values.items():
        if isinstance(value, dict):
            _put(members.setdefault(name, {}), value)
        else:
            members[name] = value
