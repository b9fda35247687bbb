"""Objects as their metadata alone (NEG-4)."""

import asyncio
from collections.abc import Sequence

from kinepy import KeyValue
from kinepy_server.objects.codec import shown_value
from kinepy_server.read.framing import JsonLines
from kinepy_server.read.view import CHUNK_ITEMS, ListMeta, bookmark_metadata
from kinepy_server.resources.resource import Resource
from kinepy_server.wire.partial import partial_bookmark, partial_list_head, partial_object


def partial_key(resource: Resource, api_version: str) -> str:
    """Names what partial metadata look like: only a webhook makes them another for each version of a resource."""
    return api_version if resource.converter is None else f"{api_version} {resource.form}"


class PartialView(JsonLines):
    """PartialObjectMetadata of one version of meta.k8s.io."""

    def __init__(self, resource: Resource, api_version: str) -> None:
        self._resource, self._api_version = resource, api_version
        self.line_key = partial_key(resource, api_version)

    def one(self, kv: KeyValue) -> bytes:
        """The object's metadata."""
        return self.watched(kv, kv.mod_revision)

    async def many(self, kvs: Sequence[KeyValue], meta: ListMeta) -> Sequence[bytes]:
        """The list of metadata."""
        parts = [partial_list_head(meta.encode(), api_version=self._api_version)]
        for start in range(0, len(kvs), CHUNK_ITEMS):
            if start:
                parts.append(b",")
                await asyncio.sleep(0)
            parts.append(b",".join([self.one(kv) for kv in kvs[start : start + CHUNK_ITEMS]]))
        parts.append(b"]}")
        return parts

    def watched(self, kv: KeyValue, revision: int) -> bytes:
        """The object's metadata at an event's revision."""
        value = shown_value(self._resource, kv)
        return partial_object(value, revision=revision, api_version=self._api_version)

    def bookmark(self, revision: int, *, initial_end: bool) -> bytes:
        """Bookmark metadata."""
        metadata = bookmark_metadata(revision, initial_end=initial_end)
        return partial_bookmark(metadata, api_version=self._api_version)
