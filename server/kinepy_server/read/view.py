"""How objects are shown: as they are, as rows of a Table, or as their metadata alone.

A view turns stored records into bytes for the three places where objects appear: alone, in a list, and
in the lines of a watch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import orjson

from kinepy import KeyValue
from kinepy_server.errors import StatusError

CHUNK_ITEMS = 1024
"""Items that are encoded before others have their turn."""
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

    def status(self, error: StatusError) -> bytes:
        """The object of an ERROR event."""
        ...

    def event(self, event_type: str, obj: bytes) -> bytes:
        """A watch event around its object, as it travels."""
        ...


def bookmark_metadata(revision: int, *, initial_end: bool) -> bytes:
    """The metadata of a bookmark: no more than a resourceVersion, and the mark of the first state's end."""
    metadata: dict[str, object] = {"resourceVersion": str(revision)}
    if initial_end:
        metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
    return orjson.dumps(metadata)
