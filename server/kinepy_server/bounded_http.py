"""uvicorn's HTTP/1.1 protocol with what uvicorn itself does not have: bounds on a request's head, any method."""

import asyncio
import re
from typing import Any, TypeAlias, cast

from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from kinepy_server.flow.again import Refusal
from kinepy_server.flow.connections import REFUSAL, Connections
from kinepy_server.one_piece import OnePiece
from kinepy_server.peer_certificate import peer_certificate
from kinepy_server.seams import CLIENT_CERTIFICATE, CONNECTION

_Held: TypeAlias = tuple[RequestResponseCycle, ASGI3Application]

_REFUSAL_HEADERS = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"


def _refusal(line: str) -> bytes:
    return f"HTTP/1.1 {line}{_REFUSAL_HEADERS}{line}".encode()


TOO_LARGE = _refusal("431 Request Header Fields Too Large")
MALFORMED = _refusal("400 Bad Request")
NO_HOST = _refusal("400 Bad Request: missing required Host header")
MANY_HOSTS = _refusal("400 Bad Request: too many Host headers")
OTHER_VERSION = _refusal("505 HTTP Version Not Supported: unsupported protocol version")
OPTIONS_OF_ALL = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
"""To a question about the server as a whole, whoever asks."""
PARSED_URL_BYTES_MAX = 65_535
"""The parser of URLs takes no longer ones. What makes them longer is the query, which is none of its affair."""

# The parser refuses methods that it does not know; the API answers 405, as it does to this one of no meaning.
KNOWN_METHODS = frozenset(
    (b"GET", b"POST", b"PUT", b"PATCH", b"DELETE", b"HEAD", b"OPTIONS", b"CONNECT", b"TRACE")
)
OTHER_METHOD = b"TRACE"
METHOD = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64} /")


def with_known_method(data: bytes) -> bytes:
    """The beginning of a request, its method replaced when it is one that the parser does not know."""
    method = data[: data.find(b" ")]
    if method in KNOWN_METHODS or METHOD.match(data) is None:
        return data
    return OTHER_METHOD + data[len(method) :]


def refusal_of(version: str, hosts: int) -> bytes | None:
    """The original's answer to a head of a version of HTTP, with so many Host headers; None when it is served."""
    if version == "1.1":
        return None if hosts == 1 else MANY_HOSTS if hosts else NO_HOST
    if version == "1.0":
        return None if hosts <= 1 else MANY_HOSTS
    # The parser takes a line without a version for this one.
    return MALFORMED if version == "0.9" else OTHER_VERSION


class BoundedHttpProtocol(HttpToolsProtocol):
    """Ends connections whose head is too large (431), does not come to its end in time, or is none of HTTP/1.

    The bounds are kube-apiserver's. A head that arrives in one piece costs two method calls and no timer.
    The application is told the client's certificate, and may end the connection. One connection too many is
    answered 429 and closed.
    """

    head_bytes_max = 1024 * 1024
    head_timeout_s = 32.0

    def __init__(self, *args: Any, connections: Connections | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limit = connections
        self._reading_head = True
        self._refused = False
        self._head_bytes = 0
        self._deadline: asyncio.TimerHandle | None = None
        self._certificate: tuple[bytes, ...] | None = None
        self._refusal: Refusal | None = None
        self._held: _Held | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn does
        """A connection that says nothing at all is ended too."""
        super().connection_made(transport)
        if self._limit is not None and self._limit.full(self.connections):
            transport.write(REFUSAL)
            transport.close()
            return
        self._certificate = peer_certificate(transport)
        self._deadline = self.loop.call_later(self.head_timeout_s, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        self._unset_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count what belongs to a head; a bound is looked at where a head goes on after this piece."""
        if self._refused:
            return
        if self._reading_head:
            if not self._head_bytes:
                data = with_known_method(data)
            self._head_bytes += len(data)
        super().data_received(data)
        if self._reading_head and self._head_bytes:
            if self._head_bytes > self.head_bytes_max:
                self._too_large()
            elif self._deadline is None:
                self._deadline = self.loop.call_later(self.head_timeout_s, self._too_slow)

    def on_headers_complete(self) -> None:
        """The head is whole; a body follows."""
        self._reading_head = False
        self._head_bytes = 0
        self._unset_deadline()
        hosts = 0
        for name, _ in self.headers:
            if name == b"host":
                hosts += 1
        refusal = refusal_of(self.parser.get_http_version(), hosts)
        if refusal is None and self.url == b"*" and self.parser.get_method() == b"OPTIONS":
            refusal = OPTIONS_OF_ALL
        if refusal is not None:
            self._refused = True
            self._end(refusal)
            return
        query = b""
        if len(self.url) > PARSED_URL_BYTES_MAX:
            self.url, _, query = self.url.partition(b"?")
        super().on_headers_complete()
        cast(dict[str, Any], self.scope)[CONNECTION] = self
        if query:
            self.scope["query_string"] = query
        if self._certificate is not None:
            # The key is ours, not one of ASGI.
            cast(dict[str, Any], self.scope)[CLIENT_CERTIFICATE] = self._certificate
        # The answer to HEAD has no body for its head to wait for.
        if self.cycle is not None and self.scope["method"] != "HEAD":
            self.cycle.transport = OnePiece(self.transport)  # type: ignore[assignment]  # what it needs of one

    def on_body(self, body: bytes) -> None:
        """A part of a body; that of a refused request is not read."""
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """What comes next is another head."""
        self._reading_head = True
        if not self._refused:
            super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        """Go on as a WebSocket, unless the request was refused."""
        if not self._refused:
            super().handle_websocket_upgrade()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, or the body of none; requests before it are answered, with nothing after them."""
        self._refused = True
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            self._end(MALFORMED)
        elif not cycle.more_body:
            cycle.keep_alive = False
        else:
            if not (cycle.response_started or self.pipeline):
                self.transport.write(MALFORMED)
            self.transport.close()

    def gone(self) -> bool:
        """Whether the client is gone."""
        return self.transport.is_closing()

    def abort(self) -> None:
        """Close it, and drop what was not sent."""
        self.transport.abort()

    def refused(self, refusal: Refusal) -> None:
        """A request was refused: what comes too soon, and would be refused too, waits until it may come."""
        self._refusal = refusal

    def shutdown(self) -> None:
        """What waits is served before the connection is closed."""
        self._go_on()
        super().shutdown()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        if self._refusal is not None and self._comes_too_soon(self._refusal, cycle):
            self._held = cycle, app
        else:
            super()._start_asgi_task(cycle, app)

    def _comes_too_soon(self, refusal: Refusal, cycle: RequestResponseCycle) -> bool:
        self._refusal = None
        if self._limit is None or not refusal.stands_for(cycle.scope, now=self.loop.time()):
            return False
        self.flow.pause_reading()
        self._limit.coming_again.hold(refusal.until, self._go_on)
        return True

    def _go_on(self) -> None:
        held, self._held = self._held, None
        if held is not None and not self.transport.is_closing():
            self.flow.resume_reading()
            super()._start_asgi_task(*held)

    def _unset_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_large(self) -> None:
        self._unset_deadline()
        self._end(TOO_LARGE)

    def _end(self, answer: bytes) -> None:
        """Close the connection, with a last answer unless another is being written."""
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(answer)
        self.transport.close()

    def _too_slow(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self.transport.close()
