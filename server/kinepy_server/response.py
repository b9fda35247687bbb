"""What a handler answers."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"


@dataclass(slots=True)
class Response:
    """A whole answer. `body` may come in parts, which are sent as one body with one Content-Length.

    JSON is sent as the original does: followed by a newline, or indented when the client asks for it.
    `verbatim` sends exactly these bytes. An empty content type sends no such header.
    """

    status: int
    body: bytes | Sequence[bytes]
    content_type: str = JSON
    headers: dict[str, str] = field(default_factory=dict)
    verbatim: bool = False


@dataclass(slots=True)
class StreamResponse:
    """A chunked answer: headers go out at once, then each item as soon as it is yielded.

    The dispatcher closes `chunks` when the client goes away or the server stops.
    """

    status: int
    chunks: AsyncIterator[bytes]
    content_type: str = JSON
    headers: dict[str, str] = field(default_factory=dict)
    limit_s: float | None = None
    """Set for an answer that means something only when it is whole: where it takes longer, or is ended from
    outside, the connection is cut, so that nobody takes it for whole."""


class Cut(Exception):
    """Raised by chunks that end before their end: the client's connection is cut too."""
