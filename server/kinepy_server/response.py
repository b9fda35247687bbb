"""What a handler answers."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

JSON = "application/json"


@dataclass(slots=True)
class Response:
    """A whole answer. `body` may come in parts, which are sent as one body with one Content-Length."""

    status: int
    body: bytes | Sequence[bytes]
    content_type: str = JSON
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class StreamResponse:
    """A chunked answer: headers go out at once, then each item as soon as it is yielded.

    The dispatcher closes `chunks` when the client goes away or the server stops.
    """

    status: int
    chunks: AsyncIterator[bytes]
    content_type: str = JSON
    headers: dict[str, str] = field(default_factory=dict)
