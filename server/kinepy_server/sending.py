"""Sending whole answers: small ones at once, large ones piece by piece, no faster than the client takes them."""

import asyncio
import gzip
from typing import Any, Final, Protocol

from kinepy_server.answer import HeaderList, Receive, Send, header_list, whole_body
from kinepy_server.deadlines import Deadlines
from kinepy_server.flow.again import Refusal
from kinepy_server.flow.control import FlowControl
from kinepy_server.request import Request
from kinepy_server.response import Response
from kinepy_server.seams import CONNECTION, Scope
from kinepy_server.server_settings import ServerSettings

AT_ONCE_BYTES: Final = 64 * 1024
"""What the connection's own buffer takes without telling the writer to wait."""
PIECE_BYTES: Final = 2 * 1024 * 1024


class Connection(Protocol):
    """What can be done with the connection of a request; the server puts it into the scope."""

    def gone(self) -> bool:
        """Whether the client is gone."""
        ...

    def abort(self) -> None:
        """Close it, and drop what was not sent."""
        ...

    def refused(self, refusal: Refusal) -> None:
        """A request on it was refused: what comes on it too soon is to wait."""
        ...


class Sender:
    """Sends the answers of one server."""

    def __init__(self, flow: FlowControl, deadlines: Deadlines, settings: ServerSettings) -> None:
        self._flow, self._deadlines = flow, deadlines
        self._gzip_bytes_min, self._limit_s = settings.gzip_bytes_min, settings.request_timeout_s

    async def send(
        self, request: Request, response: Response, *, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Send an answer. Returns when the client has taken all of a large one, or was cut off as too slow."""
        headers = header_list(request, response)
        body = whole_body(request, response)
        # The parts are not held while what was made of them is sent.
        response.body = b""
        self._flow.answered(request, response.status, len(body))
        if len(body) > self._gzip_bytes_min and "gzip" in request.headers.get("accept-encoding", ""):
            body = await _compressed(body, headers)
            self._flow.shrunk(request, len(body))
        if request.method == "HEAD":
            body = b""
        headers.append((b"content-length", str(len(body)).encode()))
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        if len(body) <= AT_ONCE_BYTES:
            await send({"type": "http.response.body", "body": body})
            return
        try:
            with self._deadlines.after(self._limit_s) as limit:
                await _send_pieces(body, send)
        except TimeoutError:
            if not limit.expired:
                raise
            await _cut_off(scope.get(CONNECTION), receive)


async def _compressed(body: bytes, headers: HeaderList) -> bytes:
    headers += ((b"content-encoding", b"gzip"), (b"vary", b"Accept-Encoding"))
    # Level 1 as the original; in a thread, since compressing holds up the loop but not the interpreter.
    return await asyncio.to_thread(gzip.compress, body, 1, mtime=0)


async def _send_pieces(body: bytes, send: Send) -> None:
    view: Any = memoryview(body) if len(body) > PIECE_BYTES else body
    for start in range(0, len(body), PIECE_BYTES):
        await send(
            {"type": "http.response.body", "body": view[start : start + PIECE_BYTES], "more_body": True}
        )
    # Sent when the connection takes more, so when what was before it has left.
    await send({"type": "http.response.body", "body": b""})


async def _cut_off(connection: Connection | None, receive: Receive) -> None:
    if connection is not None:
        connection.abort()
        while (await receive())["type"] != "http.disconnect":
            pass
