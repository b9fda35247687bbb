"""Which gate a request goes through, and what it costs.

Reading and writing have a gate each, so that neither keeps the other out. Bytes are those of answers for
reading, from their making until the client has taken them, and those of bodies for writing.
"""

import logging
from typing import Final

from kinepy_server.flow.connections import Connections
from kinepy_server.flow.gate import Gate, Limits, Line, Place, Refused
from kinepy_server.flow.reason import Reason
from kinepy_server.flow.refusal import TooMany
from kinepy_server.flow.sizes import SMALL_BYTES, Kind, Sizes
from kinepy_server.request import Request
from kinepy_server.server_settings import ServerSettings

READING_VERBS: Final = frozenset(("get", "list", "watch", "head", "options"))
EXEMPT_PATHS: Final = ("/healthz", "/livez", "/readyz", "/metrics")
"""With what is below them: they are asked to find out why nothing else answers."""

_log = logging.getLogger("kinepy.http")


class FlowControl:
    """The gates of one server."""

    def __init__(self, settings: ServerSettings) -> None:
        waiting, wait_s = settings.requests_waiting_max, settings.request_wait_s
        self.reading = Gate(
            Limits(
                seats=settings.requests_reading_max,
                held_bytes=settings.answers_bytes_max,
                waiting=waiting,
                wait_s=wait_s,
            )
        )
        self.writing = Gate(
            Limits(
                seats=settings.requests_writing_max,
                held_bytes=settings.bodies_bytes_max,
                waiting=waiting,
                wait_s=wait_s,
            )
        )
        self.connections = Connections(settings.connections_max)
        self._sizes = Sizes(settings.answers_bytes_max // 8)
        self._body_bytes_max = settings.body_bytes_max
        self._scan_page_bytes = settings.scan_page_bytes

    def enter(self, request: Request) -> bool:
        """Give the request its place if there is one now, or if it needs none."""
        if request.verb in READING_VERBS:
            if not request.is_resource and request.path.startswith(EXEMPT_PATHS):
                return True
            cost = self._answer_cost(request) if not request.name or request.verb == "watch" else 0
            request.place = self.reading.enter(request.user.name, cost)
        else:
            request.place = self.writing.enter(request.user.name, self._body_cost(request))
        return request.place is not None

    def full_line(self, request: Request) -> Line | None:
        """The line in which a request that did not enter would have to wait, where that has no room: it is refused."""
        line, _ = self._line(request)
        if not line.refuses():
            return None
        _log.info("%s %s refused: %s", request.method, request.path, Reason.QUEUE_FULL.value)
        return line

    async def wait(self, request: Request) -> None:
        """Give the request its place when it is its turn. Raises the 429."""
        line, cost = self._line(request)
        try:
            request.place = await line.gate.wait(line.user_name, line.flow, cost=cost)
        except Refused as refused:
            _log.info("%s %s refused: %s", request.method, request.path, refused.reason.value)
            raise TooMany from None

    def _line(self, request: Request) -> tuple[Line, int]:
        """Where a request waits, and what it costs."""
        if request.verb in READING_VERBS:
            gate, cost = self.reading, self._answer_cost(request)
        else:
            gate, cost = self.writing, self._body_cost(request)
        # What waits for bytes does not hold up what needs none.
        flow = f"{request.namespace}/bytes" if cost else request.namespace
        return Line(gate, request.user.name, flow), cost

    def answered(self, request: Request, status: int, size: int) -> None:
        """The whole answer to a request is so large, and held until the client has taken it."""
        place: Place | None = request.place
        if place is None or (size <= SMALL_BYTES and not place.held_bytes and request.name):
            return
        if request.verb in READING_VERBS:
            place.resize(size if size > SMALL_BYTES else 0)
            if request.verb == "list" and status == 200:
                self._sizes.learn(_kind(request), size)

    def shrunk(self, request: Request, size: int) -> None:
        """The answer to a request was compressed to this."""
        if request.place is not None and request.verb in READING_VERBS:
            request.place.resize(size if size > SMALL_BYTES else 0)

    def _answer_cost(self, request: Request) -> int:
        if request.verb == "list":
            return self._sizes.expected(_kind(request))
        # One page of the present state is held at once.
        return self._scan_page_bytes if begins_with_state(request) else 0

    def _body_cost(self, request: Request) -> int:
        announced = request.headers.get("content-length")
        if announced is None:
            return self._body_bytes_max if "transfer-encoding" in request.headers else 0
        if not announced.isdecimal():
            return 0
        # A longer body is refused before it is read.
        size = int(announced)
        return size if SMALL_BYTES < size <= self._body_bytes_max else 0


def begins_with_state(request: Request) -> bool:
    """Whether a watch tells the present state first."""
    return request.verb == "watch" and (
        "sendInitialEvents" in request.query or request.parameter("resourceVersion") in ("", "0")
    )


def _kind(request: Request) -> Kind:
    return request.group, request.resource, request.namespace, request.parameter("limit")
