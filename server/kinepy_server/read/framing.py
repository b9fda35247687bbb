"""How an event travels: a line of JSON, or a frame of protobuf.

A line is `{"type":…,"object":…}` and a newline. A frame is a length of four bytes and a WatchEvent
message; the object in it is whole, in an envelope of its own.
"""

import orjson

from kinepy_server.errors import StatusError, status_object
from kinepy_server.wire.protobuf import seal_status
from kinepy_server.wire.protobuf_wire import BYTES, chunk, tag_of

LENGTH_BYTES = 4
_FIRST, _SECOND = tag_of(1, BYTES), tag_of(2, BYTES)


class JsonLines:
    """Events of views that are JSON."""

    def event(self, event_type: str, obj: bytes) -> bytes:
        """One event as a line."""
        return b'{"type":"%b","object":%b}\n' % (event_type.encode(), obj)

    def status(self, error: StatusError) -> bytes:
        """The object of an ERROR event."""
        return orjson.dumps(status_object(error))


class ProtobufFrames:
    """Events of views that are protobuf."""

    def event(self, event_type: str, obj: bytes) -> bytes:
        """One event as a frame."""
        message = chunk(_FIRST, event_type.encode()) + chunk(_SECOND, chunk(_FIRST, obj))
        return len(message).to_bytes(LENGTH_BYTES, "big") + message

    def status(self, error: StatusError) -> bytes:
        """The object of an ERROR event."""
        return seal_status(error)
