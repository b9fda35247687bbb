"""How objects are shown: as they are, as rows of a Table, or as their metadata alone.

A view turns stored records into bytes for the three places where objects appear: alone, in a list, and
in the lines of a watch. Which view a request gets is negotiated from its Accept header.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import orjson

from kinepy import KeyValue
from kinepy_server.context import Context
from kinepy_server.objects.codec import items_bytes, object_bytes, object_bytes_at
from kinepy_server.request import Request
from kinepy_server.resources.resource import Resource
from kinepy_server.response import JSON

CHUNK_ITEMS = 1024
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


@dataclass(frozen=True, slots=True)
class ListMeta:
    """A list's metadata; an empty token and an unknown count are left out."""

    revision: int
    continue_token: str = ""
    remaining: int | None = None

    def encode(self, *, always_continue: bool = False) -> bytes:
        """As JSON. Lists of custom resources always carry `continue`."""
        members: dict[str, object] = {"resourceVersion": str(self.revision)}
        if self.continue_token or always_continue:
            members["continue"] = self.continue_token
        if self.remaining is not None:
            members["remainingItemCount"] = self.remaining
        return orjson.dumps(members)


class View(Protocol):
    """One representation of one resource's objects."""

    content_type: str

    @property
    def line_key(self) -> str:
        """Names what a watch line looks like, so that watchers can share it; empty when they cannot."""
        ...

    def one(self, kv: KeyValue) -> bytes:
        """The answer to a get."""
        ...

    async def many(self, kvs: Sequence[KeyValue], meta: ListMeta) -> Sequence[bytes]:
        """The answer to a list, in parts."""
        ...

    def watched(self, kv: KeyValue, revision: int) -> bytes:
        """The object of a watch event, shown with the event's revision."""
        ...

    def bookmark(self, revision: int, *, initial_end: bool) -> bytes:
        """The object of a bookmark."""
        ...


class PlainView:
    """Objects as they are."""

    content_type = JSON

    def __init__(self, resource: Resource) -> None:
        self._resource = resource
        self.line_key = resource.api_version

    def one(self, kv: KeyValue) -> bytes:
        return object_bytes(self._resource, kv)

    async def many(self, kvs: Sequence[KeyValue], meta: ListMeta) -> Sequence[bytes]:
        resource = self._resource
        encoded = meta.encode(always_continue=resource.list_items_carry_kind)
        kind = f'{{"kind":"{resource.list_kind}","apiVersion":"{resource.api_version}","metadata":'
        parts = [kind.encode() + encoded + b',"items":[']
        for start in range(0, len(kvs), CHUNK_ITEMS):
            if start:
                parts.append(b",")
                await asyncio.sleep(0)  # a long list shall not hold up everyone else
            parts.append(b",".join(items_bytes(resource, kvs[start : start + CHUNK_ITEMS])))
        parts.append(b"]}")
        return parts

    def watched(self, kv: KeyValue, revision: int) -> bytes:
        return object_bytes_at(self._resource, kv, revision)

    def bookmark(self, revision: int, *, initial_end: bool) -> bytes:
        return bookmark_object(
            self._resource.api_version, self._resource.kind, revision, initial_end=initial_end
        )


def bookmark_object(api_version: str, kind: str, revision: int, *, initial_end: bool) -> bytes:
    """An object with no more than its kind and a resourceVersion (WATCH-20)."""
    annotations = {"annotations": {INITIAL_EVENTS_END: "true"}} if initial_end else {}
    metadata = {"resourceVersion": str(revision), **annotations}
    return orjson.dumps({"kind": kind, "apiVersion": api_version, "metadata": metadata})


def single_view(context: Context, request: Request, resource: Resource) -> View:
    """The view of one object."""
    return PlainView(resource)


def list_view(context: Context, request: Request, resource: Resource) -> View:
    """The view of a collection."""
    return PlainView(resource)


def watch_view(context: Context, request: Request, resource: Resource) -> View:
    """The view of watch events."""
    return PlainView(resource)
