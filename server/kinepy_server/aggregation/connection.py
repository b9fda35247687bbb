"""One HTTP/1.1 connection to a backend: a request, then its answer as it comes.

A general client costs several times what the whole rest of proxying does.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any, cast

import httptools

HEAD_BYTES_MAX = 1024 * 1024
"""Of a head, and of whatever else comes before or after a part of a body: extensions of chunks, trailers."""
HELD_BYTES_MAX = 256 * 1024
"""So much is held that the client has not taken yet; then the backend is not read from."""
_INFORMATION = range(100, 200)


class Broken(Exception):
    """The connection ended, or said something that is no HTTP, before the answer's end."""


class Connection(asyncio.Protocol):
    """Made by `loop.create_connection`. Serves one request at a time."""

    def __init__(self) -> None:
        self.reused = False
        self.idle_since = 0.0
        self._transport: asyncio.Transport | None = None
        self._parser: Any = None
        self._problem: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._begin(headless=False)

    def _begin(self, *, headless: bool) -> None:
        self.status = 0
        self.headers: list[tuple[str, str]] = []
        self.complete = True
        self.heard = False
        self._parser = httptools.HttpResponseParser(self)
        self._headless, self._headed, self._framed, self._reusable = headless, False, False, False
        self._over = False
        self._parts: deque[bytes] = deque()
        self._held = self._head_bytes = 0

    # --- what the owner does

    async def request(self, head: bytes, body: bytes, *, headless: bool) -> None:
        """Send a request; returns when the head of the answer is there. `headless`: the answer will have no body.

        Raises Broken.
        """
        assert self._transport is not None and self.complete, "one request at a time"
        self._begin(headless=headless)
        self.complete = False
        self._transport.write(head + body)
        while not self._headed:
            await self._wait()

    async def read(self) -> bytes:
        """The next part of the body; empty at its end. Raises Broken."""
        while not self._parts:
            if self.complete:
                return b""
            await self._wait()
        part = self._parts.popleft()
        full = self._held > HELD_BYTES_MAX
        self._held -= len(part)
        if full and self._held <= HELD_BYTES_MAX and self._transport is not None:
            self._transport.resume_reading()
        return part

    @property
    def reusable(self) -> bool:
        """Whether another request may be sent."""
        open_ = self._transport is not None and not self._transport.is_closing()
        return open_ and self.complete and self._reusable and not self._parts

    def abort(self) -> None:
        """Close it at once."""
        if self._transport is not None:
            self._transport.abort()

    async def _wait(self) -> None:
        if self._problem is not None:
            raise Broken(str(self._problem)) from self._problem
        if self._transport is None:
            raise Broken("EOF")
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # --- what the event loop tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Something has come."""
        if self.complete:
            # Nobody has asked for anything.
            self.abort()
            return
        self.heard = True
        self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(Broken(f"malformed HTTP response: {error}"))
        except httptools.HttpParserUpgrade:
            self._fail(Broken("malformed HTTP response: an upgrade that nobody asked for"))
        if self._head_bytes > HEAD_BYTES_MAX and not self.complete:
            self._fail(Broken(f"server response headers exceeded {HEAD_BYTES_MAX} bytes; aborted"))
        if self._held > HELD_BYTES_MAX and self._transport is not None and not self.complete:
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, error: Exception | None) -> None:
        """It is closed. A body of no announced length has its end here."""
        self._transport = None
        if not self.complete and self._headed and not self._framed and error is None:
            self.complete = True
        elif not self.complete and self._problem is None:
            self._problem = error or Broken("unexpected EOF" if self._headed else "EOF")
        self._wake()

    def _fail(self, problem: Exception) -> None:
        if self._problem is None:
            self._problem = problem
        self.abort()

    # --- what the parser tells

    def on_message_begin(self) -> None:
        """An answer begins: maybe the one after a mere information. One that nobody asked for is not listened to."""
        if self._headed:
            self._over, self._reusable = True, False
        else:
            self.headers = []

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header; those after a body are left out."""
        if not self._headed:
            self.headers.append((name.decode("latin-1").lower(), value.decode("latin-1").strip()))

    def on_headers_complete(self) -> None:
        """The head is there."""
        if self._headed:
            return
        self.status = self._parser.get_status_code()
        if self.status in _INFORMATION:
            return
        self._headed = True
        self._reusable = self._parser.should_keep_alive() and not self._headless
        self._framed = any(name in ("content-length", "transfer-encoding") for name, _ in self.headers)
        if self._headless:
            self.complete = True

    def on_body(self, part: bytes) -> None:
        """A part of the body."""
        self._head_bytes = 0
        if not self._headless and not self._over:
            self._parts.append(part)
            self._held += len(part)

    def on_message_complete(self) -> None:
        """The end."""
        if self._headed:
            self.complete = True


def head_of(method: str, target: bytes, headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    """The head of a request. Raises Broken for what would be another request, or none."""
    lines = [b"%b %b HTTP/1.1" % (method.encode(), target)]
    for name, value in headers:
        if b"\r" in value or b"\n" in value or b"\0" in value:
            raise Broken(f'net/http: invalid header field value for "{name.decode("latin-1")}"')
        lines.append(b"%b: %b" % (name, value))
    return b"\r\n".join(lines) + b"\r\n\r\n"
