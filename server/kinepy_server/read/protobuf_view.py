"""Objects as protobuf: whole, or their metadata alone.

Encoding costs more than splicing JSON does, so the message of the newest version is kept with its record:
it is made once for a write's answer, its watchers, and those who get or list it later.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from functools import cache

import orjson

from kinepy import KeyValue
from kinepy_server.objects.codec import decode_at, shown_value
from kinepy_server.read.framing import ProtobufFrames
from kinepy_server.read.partial_view import partial_key
from kinepy_server.read.view import ListMeta, bookmark_metadata
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.wire.partial import metadata_members
from kinepy_server.wire.protobuf import encode_message, seal, seal_parts
from kinepy_server.wire.protobuf_table import fields_of, message_of
from kinepy_server.wire.protobuf_wire import BYTES, chunk, tag_of

CHUNK_ITEMS = 256
"""Items that are encoded before others have their turn."""
_PARTIAL = "PartialObjectMetadata"


class ProtobufView(ProtobufFrames):
    """Whole objects of a resource."""

    def __init__(self, resource: Resource) -> None:
        self._resource = resource
        self._message = resource.schema
        self.line_key = f"{resource.api_version} protobuf"

    def one(self, kv: KeyValue) -> bytes:
        """The object."""
        return self._sealed(self._content(kv))

    async def many(self, kvs: Sequence[KeyValue], meta: ListMeta) -> Sequence[bytes]:
        """The typed list."""
        resource = self._resource
        items = [content async for content in _in_turns(self._content, kvs)]
        return _list(resource.api_version, resource.list_kind, meta=meta, items=items)

    def watched(self, kv: KeyValue, revision: int) -> bytes:
        """The object at an event's revision."""
        return self._sealed(self._content(kv) if revision == kv.mod_revision else self._encode(kv, revision))

    def bookmark(self, revision: int, *, initial_end: bool) -> bytes:
        """An object of the kind with bookmark metadata."""
        metadata = orjson.loads(bookmark_metadata(revision, initial_end=initial_end))
        return self._sealed(encode_message(self._message, {"metadata": metadata}))

    def _sealed(self, content: bytes) -> bytes:
        return seal(self._resource.api_version, self._resource.kind, content)

    def _content(self, kv: KeyValue) -> bytes:
        """The message of a record at its own revision, kept in its face."""
        kept = kv.face
        if not isinstance(kept, dict):
            kept = kv.face = {}
        content: bytes | None = kept.get(self.line_key)
        if content is None:
            content = kept[self.line_key] = self._encode(kv, kv.mod_revision)
        return content

    def _encode(self, kv: KeyValue, revision: int) -> bytes:
        obj = decode_at(self._resource, kv, revision)
        if not revision:
            del obj["metadata"]["resourceVersion"]
        return encode_message(self._message, obj)


class PartialProtobufView(ProtobufFrames):
    """PartialObjectMetadata of one version of meta.k8s.io."""

    def __init__(self, resource: Resource, api_version: str) -> None:
        self._resource, self._api_version = resource, api_version
        self.line_key = f"{partial_key(resource, api_version)} protobuf"

    def one(self, kv: KeyValue) -> bytes:
        """The object's metadata."""
        return self._sealed(self._content(kv))

    async def many(self, kvs: Sequence[KeyValue], meta: ListMeta) -> Sequence[bytes]:
        """The list of metadata."""
        items = [content async for content in _in_turns(self._content, kvs)]
        return _list(self._api_version, f"{_PARTIAL}List", meta=meta, items=items)

    def watched(self, kv: KeyValue, revision: int) -> bytes:
        """The object's metadata at an event's revision."""
        return self._sealed(_partial(shown_value(self._resource, kv), revision))

    def bookmark(self, revision: int, *, initial_end: bool) -> bytes:
        """Bookmark metadata."""
        return self._sealed(_metadata(orjson.loads(bookmark_metadata(revision, initial_end=initial_end))))

    def _content(self, kv: KeyValue) -> bytes:
        return _partial(shown_value(self._resource, kv), kv.mod_revision)

    def _sealed(self, content: bytes) -> bytes:
        return seal(self._api_version, _PARTIAL, content)


async def _in_turns(encode: Callable[[KeyValue], bytes], kvs: Sequence[KeyValue]) -> AsyncIterator[bytes]:
    for position, kv in enumerate(kvs, 1):
        yield encode(kv)
        if position % CHUNK_ITEMS == 0:
            await asyncio.sleep(0)


def _partial(value: bytes, revision: int) -> bytes:
    metadata: JsonObject = orjson.loads(b"{" + metadata_members(value))
    if revision:
        metadata["resourceVersion"] = str(revision)
    return _metadata(metadata)


def _metadata(metadata: JsonObject) -> bytes:
    return encode_message(f"meta.v1.{_PARTIAL}", {"metadata": metadata})


@cache
def _list_tags(message: str) -> tuple[bytes, bytes, bool]:
    """The tags of a list's metadata and of an item, and whether metadata comes first."""
    numbers = {field.name: number for number, field in fields_of(message).items()}
    metadata, items = numbers["metadata"], numbers["items"]
    return tag_of(metadata, BYTES), tag_of(items, BYTES), metadata < items


def _list(api_version: str, kind: str, *, meta: ListMeta, items: Sequence[bytes]) -> Sequence[bytes]:
    metadata_tag, item_tag, metadata_first = _list_tags(message_of(api_version, kind))
    metadata = chunk(metadata_tag, encode_message("meta.v1.ListMeta", orjson.loads(meta.encode())))
    shown = [chunk(item_tag, content) for content in items]
    return seal_parts(api_version, kind, [metadata, *shown] if metadata_first else [*shown, metadata])
