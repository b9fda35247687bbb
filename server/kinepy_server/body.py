"""Reading request bodies, bounded."""

from collections.abc import Mapping

from kinepy_server.answer import Receive
from kinepy_server.errors import bad_request, body_too_large


async def read_body(headers: Mapping[str, str], receive: Receive, *, limit_bytes: int) -> bytes:
    """The whole body; 413 as soon as it is known to be too long (LIM-1)."""
    announced = headers.get("content-length")
    if announced is not None and announced.isdecimal() and int(announced) > limit_bytes:
        raise body_too_large(limit_bytes)
    parts: list[bytes] = []
    total = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise bad_request("unable to read the request body: the client has gone")
        part: bytes = message.get("body", b"")
        total += len(part)
        if total > limit_bytes:
            raise body_too_large(limit_bytes)
        if part:
            parts.append(part)
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)
