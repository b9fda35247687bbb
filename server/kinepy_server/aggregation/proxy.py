"""Asking backends: in the name of a client, or of this server itself."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from kinepy_server.aggregation.apiservice import ApiService
from kinepy_server.aggregation.connection import Broken
from kinepy_server.aggregation.endpoints import Address, Unresolved
from kinepy_server.aggregation.failures import Unreachable, unavailable, unreachable
from kinepy_server.aggregation.framing import whole_messages
from kinepy_server.aggregation.headers import forwarded, identity, is_redirect, returned, target
from kinepy_server.aggregation.resolver import Resolver
from kinepy_server.aggregation.transport import Answer, Message, Transport
from kinepy_server.auth.user import MASTERS, User
from kinepy_server.deadline import request_deadline_s
from kinepy_server.request import Request
from kinepy_server.response import Cut, Response, StreamResponse
from kinepy_server.server_settings import ServerSettings

AT_ONCE_BYTES = 64 * 1024
"""Answers of a known length up to this are read whole, and sent in one piece."""
DISCOVERY_S = 5.0
"""As in the original: what tells which resources there are must come fast, or everybody waits."""
AGGREGATOR = User("system:kube-aggregator", (MASTERS,))
OWN_ANSWER_BYTES_MAX = 64 * 1024 * 1024
REDIRECTED = b"the backend attempted to redirect this request, which is not permitted"
_TEXT = "text/plain; charset=utf-8"
_NO_BODY = frozenset((204, 304))


@dataclass(frozen=True, slots=True)
class Told:
    """A backend's whole answer to this server. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Proxy:
    """Asks the backends of APIServices."""

    def __init__(self, transport: Transport, resolver: Resolver, settings: ServerSettings) -> None:
        self.transport, self.resolver, self._settings = transport, resolver, settings

    async def forward(
        self, request: Request, service: ApiService, *, client: str = "", websocket: bool = False
    ) -> Response | StreamResponse:
        """The backend's answer to a client's request. Raises the original's 503.

        `client` is the client's address; a WebSocket's watch is told message by message.
        """
        try:
            address = await self._address(service)
        except Unresolved:
            raise unavailable() from None
        headers = forwarded(request, host=address.netloc, client=client, websocket=websocket)
        message = Message(request.method, target(request), headers, request.body)
        try:
            async with asyncio.timeout(None if request.is_resource else DISCOVERY_S):
                response = await self.transport.send(service, address, message)
                return await self._answer(request, response, websocket=websocket)
        except TimeoutError:
            raise unreachable(Unreachable("context deadline exceeded")) from None
        except Unreachable as error:
            assert service.service is not None
            self.resolver.forget(service.service)
            raise unreachable(error) from None

    async def ask(
        self,
        service: ApiService,
        path: str,
        *,
        accept: str = "application/json",
        method: str = "GET",
        user: User = AGGREGATOR,
        limit_s: float = DISCOVERY_S,
    ) -> Told:
        """The backend's answer to this server itself, or to one of its controllers. Raises Unreachable."""
        try:
            address = await self._address(service)
        except Unresolved as error:
            raise Unreachable(str(error)) from None
        try:
            headers = [
                (b"host", address.netloc.encode()),
                (b"accept", accept.encode()),
                *identity(user),
            ]
            async with asyncio.timeout(limit_s):
                message = Message(method, path.encode(), headers)
                response = await self.transport.send(service, address, message)
                try:
                    body = await _whole(response, OWN_ANSWER_BYTES_MAX)
                finally:
                    response.close()
        except TimeoutError:
            raise Unreachable("context deadline exceeded") from None
        return Told(response.status, returned(response.headers), body)

    async def _address(self, service: ApiService) -> Address:
        assert service.service is not None, "only what others serve is asked for"
        if not service.available:
            raise Unresolved("service unavailable")
        return await self.resolver.resolve(service.service)

    async def _answer(
        self, request: Request, response: Answer, *, websocket: bool
    ) -> Response | StreamResponse:
        headers = returned(response.headers)
        status = response.status
        if status == 403:
            # Said of every 403 here: saying it twice is none of HTTP's manners.
            headers.pop("x-content-type-options", None)
        if is_redirect(status, headers):
            response.close()
            return Response(502, REDIRECTED, _TEXT, verbatim=True)
        if status in _NO_BODY:
            response.close()
            headers.pop("content-length", None)
            return Response(status, b"", headers.pop("content-type", ""), headers, verbatim=True)
        length = headers.get("content-length", "")
        if (
            length.isdecimal()
            and len(length) < 10
            and int(length) <= AT_ONCE_BYTES
            and request.method != "HEAD"
        ):
            del headers["content-length"]
            try:
                body = await _whole(response, AT_ONCE_BYTES)
            finally:
                response.close()
            return Response(status, body, headers.pop("content-type", ""), headers, verbatim=True)
        parts: AsyncIterator[bytes] = _Parts(response)
        watch = request.verb == "watch"
        if websocket and watch and status == 200:
            parts = whole_messages(parts, lines="protobuf" not in headers.get("content-type", ""))
        limit_s = None if watch else request_deadline_s(request, self._settings)
        return StreamResponse(status, parts, headers.pop("content-type", ""), headers, limit_s=limit_s)


async def _whole(response: Answer, bytes_max: int) -> bytes:
    """The whole body as it was sent. Raises Unreachable when it is cut, or longer."""
    parts, size = [], 0
    try:
        while part := await response.read():
            size += len(part)
            if size > bytes_max:
                raise Unreachable("the answer is too large")
            parts.append(part)
    except Broken:
        raise Unreachable("unexpected EOF") from None
    return b"".join(parts)


class _Parts:
    """The body as it comes: no more is read from the backend than the client takes. Raises Cut."""

    def __init__(self, response: Answer) -> None:
        self._response = response

    def __aiter__(self) -> "_Parts":
        return self

    async def __anext__(self) -> bytes:
        try:
            part = await self._response.read()
        except Broken as error:
            raise Cut(str(error)) from None
        if not part:
            raise StopAsyncIteration
        return part

    async def aclose(self) -> None:
        """Let the backend go."""
        self._response.close()
