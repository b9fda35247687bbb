"""The ASGI application: from a connection's request to a handler and back.

One raw endpoint serves everything, since wrapping bodies costs more than most requests do. The order is
the original's: time limit, authentication, authorization, address, body, handler.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Any

from starlette.routing import Router

from kinepy.errors import KinepyError
from kinepy_server.aggregation.serving import proxied
from kinepy_server.answer import Receive, Send, Streams, error_response
from kinepy_server.auth.user import User
from kinepy_server.body import read_body
from kinepy_server.context import Context
from kinepy_server.controllers import ALL_CONTROLLERS, running_controllers
from kinepy_server.deadline import request_deadline_s
from kinepy_server.deadlines import Deadlines
from kinepy_server.dispatch import Pages, respond
from kinepy_server.errors import PlainError, StatusError, timeout, unauthorized
from kinepy_server.flow.again import Refusal, kind_of
from kinepy_server.flow.gate import Line
from kinepy_server.flow.refusal import REFUSED, RETRY_AFTER_S, TooMany, send_refusal
from kinepy_server.library_errors import translate
from kinepy_server.objects.uids import new_uid
from kinepy_server.request import Request
from kinepy_server.request_info import decode_path, parse_query, parse_request
from kinepy_server.response import TEXT, Response, StreamResponse
from kinepy_server.seams import CONNECTION, Authenticate, Authorize, Observer, Page, Scope
from kinepy_server.sending import Connection, Sender
from kinepy_server.websocket import WebSocketAsHttp

_log = logging.getLogger("kinepy.http")
_BODY_METHODS = frozenset(("POST", "PUT", "PATCH", "DELETE"))
_PANIC = b"This request caused apiserver to panic. Look in the logs for details.\n"
_NOBODY: Any = None
"""The user until authentication has found one; nothing reads it before."""


def create_app(
    context: Context,
    *,
    authenticate: Authenticate,
    authorize: Authorize,
    pages: Sequence[Page] = (),
    controllers: Collection[str] = ALL_CONTROLLERS,
    observer: Observer | None = None,
) -> "Application":
    """The application over an open store. It opens and closes nothing itself.

    Its lifespan makes the bootstrap objects and runs the controllers. Set `context.shutdown` before the
    server closes its connections, so that watches end cleanly.
    """
    return Application(
        context,
        authenticate=authenticate,
        authorize=authorize,
        pages=Pages(pages),
        controllers=controllers,
        observer=observer,
    )


class Application:
    """An ASGI application; see `create_app`."""

    def __init__(
        self,
        context: Context,
        *,
        authenticate: Authenticate,
        authorize: Authorize,
        pages: Pages,
        controllers: Collection[str],
        observer: Observer | None,
    ) -> None:
        self.context = context
        self.streams = Streams()
        self._deadlines = Deadlines()
        self._flow = context.flow
        self._sender = Sender(context.flow, self._deadlines, context.settings)
        self._authenticate, self._authorize = authenticate, authorize
        self._pages, self._controllers, self._observer = pages, controllers, observer
        self._router = Router(lifespan=self._lifespan)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection scope."""
        if scope["type"] == "http":
            await self._serve(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._router(scope, receive, send)
        else:
            connection = WebSocketAsHttp(scope, receive, send)
            await self._serve(connection.scope, connection.receive, connection.send)

    @asynccontextmanager
    async def _lifespan(self, _: object) -> AsyncIterator[None]:
        async with running_controllers(self.context, self._controllers):
            ender = asyncio.create_task(self._end_streams_at_shutdown())
            try:
                yield
            finally:
                self.context.shutdown.set()
                await ender

    async def _end_streams_at_shutdown(self) -> None:
        await self.context.shutdown.wait()
        self.streams.end_all()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        request = _bare_request(scope)
        try:
            answer = await self._answer(request, scope, receive)
            if answer is REFUSED:
                await send_refusal(request.audit_id, send)
            elif isinstance(answer, StreamResponse):
                await self._stream(request, answer, scope=scope, receive=receive, send=send)
            else:
                await self._sender.send(request, answer, scope=scope, receive=receive, send=send)
        finally:
            request.leave()
        if self._observer is not None:
            self._observer.finished(request, code=answer.status, seconds=time.perf_counter() - started)

    async def _stream(
        self, request: Request, answer: StreamResponse, *, scope: Scope, receive: Receive, send: Send
    ) -> None:
        if self._observer is not None:
            self._observer.stream_started(request)
        if request.place is not None:
            # However slowly a client takes the state that a watch begins with: it does not keep others out.
            limit_s = self.context.settings.request_timeout_s
            asyncio.get_running_loop().call_later(limit_s, request.place.leave)
        connection = scope.get(CONNECTION)
        abort = connection.abort if connection is not None else None
        try:
            await self.streams.send(request, answer, send=send, receive=receive, abort=abort)
        finally:
            if self._observer is not None:
                self._observer.stream_finished(request)

    async def _answer(self, request: Request, scope: Scope, receive: Receive) -> Response | StreamResponse:
        try:
            _understand(request, scope)
            return await self._in_time(request, scope, receive)
        except (StatusError, PlainError) as error:
            return error_response(error, request)
        except KinepyError as error:
            return error_response(translate(error), request)
        except Exception:
            # The last line of defence: the client gets an answer, and the log all that is known.
            _log.exception("%s %s failed (audit id %s)", request.method, request.path, request.audit_id)
            return Response(500, _PANIC, TEXT)

    async def _in_time(self, request: Request, scope: Scope, receive: Receive) -> Response | StreamResponse:
        if request.verb == "watch":
            return await self._handle(request, scope, receive)
        try:
            with self._deadlines.after(request_deadline_s(request, self.context.settings)) as limit:
                return await self._handle(request, scope, receive)
        except TimeoutError:
            if not limit.expired:
                raise
            raise timeout("request did not complete within the allotted timeout") from None

    async def _handle(self, request: Request, scope: Scope, receive: Receive) -> Response | StreamResponse:
        user = self._authenticate(request.headers, scope)
        if not isinstance(user, User):
            user = await user if user is not None else None
            if user is None:
                raise unauthorized()
        request.user = user
        asked = self._authorize(request)
        if asked is not None:
            await asked
        if not self._flow.enter(request):
            full = self._flow.full_line(request)
            if full is not None:
                return _refused(request, full, scope)
            await self._wait(request, scope)
        if request.method in _BODY_METHODS:
            request.body = await read_body(
                request.headers, receive, limit_bytes=self.context.settings.body_bytes_max
            )
        service = self.context.aggregation.claims(request)
        if service is not None:
            return await proxied(self.context, request, service, scope=scope, receive=receive)
        return await respond(self.context, request, self._pages)

    async def _wait(self, request: Request, scope: Scope) -> None:
        """Wait until it is let in. Raises the 429."""
        await self._flow.wait(request)
        connection: Connection | None = scope.get(CONNECTION)
        if connection is not None and connection.gone():
            raise TooMany  # nobody hears it, and nothing is done for nobody


def _refused(request: Request, full: Line, scope: Scope) -> Response:
    """The 429 of a request that may not even wait; what comes on its connection too soon is held."""
    connection: Connection | None = scope.get(CONNECTION)
    if connection is not None:
        until = asyncio.get_running_loop().time() + RETRY_AFTER_S
        connection.refused(Refusal(full, kind_of(scope), until))
    if request.method == "HEAD":
        raise TooMany
    return REFUSED


def _bare_request(scope: Scope) -> Request:
    headers: dict[str, str] = {}
    for name_bytes, value_bytes in scope["headers"]:
        name, value = name_bytes.decode("latin-1"), value_bytes.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    audit_id = headers.get("audit-id") or new_uid()
    return Request(scope["method"], "", {}, headers, _NOBODY, audit_id=audit_id)


def _understand(request: Request, scope: Scope) -> None:
    request.path = decode_path(scope["raw_path"])
    request.query = parse_query(scope["query_string"])
    info = parse_request(request.method, request.path, request.query)
    request.is_resource, request.verb = info.is_resource, info.verb
    if info.is_resource:
        request.group, request.version, request.resource = info.group, info.version, info.resource
        request.namespace, request.name = info.namespace, info.name
        request.subresource, request.extra_path = info.subresource, info.extra
