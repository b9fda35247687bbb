"""Writing answers to the connection: headers, indentation, compression, streams."""

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from contextlib import aclosing
from typing import Any, TypeAlias, cast

import orjson

from kinepy_server.errors import PlainError, StatusError, status_body
from kinepy_server.negotiate import PROTOBUF, YAML, AnswerType, negotiate
from kinepy_server.request import Request
from kinepy_server.response import JSON, TEXT, Cut, Response, StreamResponse
from kinepy_server.warnings import warning_headers
from kinepy_server.wire.protobuf import seal_status
from kinepy_server.wire.yaml_text import yaml_of_json

Message: TypeAlias = MutableMapping[str, Any]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
HeaderList: TypeAlias = list[tuple[bytes, bytes]]

_CACHE_CONTROL = (b"cache-control", b"no-cache, private")
_NO_SNIFF = (b"x-content-type-options", b"nosniff")
_BROWSERS = ("curl", "Wget", "Mozilla/5.0")


def error_response(error: StatusError | PlainError, request: Request) -> Response:
    """The answer to a request that failed; a Status in the media type that was negotiated."""
    headers = {"retry-after": str(error.retry_after_s)} if error.retry_after_s else {}
    if isinstance(error, PlainError):
        return Response(error.code, error.text.encode(), TEXT, headers)
    match _error_type(request):
        case "yaml":
            return Response(error.code, yaml_of_json(status_body(error)), YAML, headers)
        case "protobuf":
            return Response(error.code, seal_status(error), PROTOBUF, headers)
        case _:
            return Response(error.code, status_body(error), headers=headers)


def _error_type(request: Request) -> AnswerType:
    """The media type of an error's answer: JSON when no other was negotiated."""
    accept = request.headers.get("accept", "")
    if "yaml" not in accept and "protobuf" not in accept:
        return "json"
    try:
        return negotiate(accept, verb=request.verb).media_type
    except StatusError:
        return "json"


def wants_pretty(request: Request) -> bool:
    """Whether JSON is to be indented (HTTP-10): asked for, or a person seems to be reading."""
    asked = request.query.get("pretty")
    if asked is not None:
        return request.flag("pretty")
    return request.headers.get("user-agent", "").startswith(_BROWSERS)


def header_list(request: Request, answer: Response | StreamResponse) -> HeaderList:
    """The headers of an answer, without its length."""
    headers = [(b"audit-id", request.audit_id.encode("latin-1"))]
    if answer.content_type:
        headers.append((b"content-type", answer.content_type.encode()))
    own = answer.headers
    if not own or not any(name.lower() == "cache-control" for name in own):
        headers.append(_CACHE_CONTROL)
    if own:
        headers.extend((name.lower().encode(), value.encode("latin-1")) for name, value in own.items())
    if answer.status == 403 or answer.content_type is TEXT:
        headers.append(_NO_SNIFF)
    if request.warnings:
        headers.extend((b"warning", value) for value in warning_headers(request.warnings))
    return headers


def whole_body(request: Request, response: Response) -> bytes:
    """The body of an answer as it is sent, not compressed."""
    whole = response.body if isinstance(response.body, bytes) else None
    if response.verbatim or (response.content_type is not JSON and response.content_type != JSON):
        return whole if whole is not None else b"".join(response.body)  # type: ignore[arg-type]
    if wants_pretty(request):
        return _indented(whole if whole is not None else b"".join(cast(Sequence[bytes], response.body)))
    if whole is not None:
        return whole + b"\n"
    return b"".join((*cast(Sequence[bytes], response.body), b"\n"))


def _indented(body: bytes) -> bytes:
    try:
        return orjson.dumps(orjson.loads(body), option=orjson.OPT_INDENT_2)
    except orjson.JSONDecodeError:
        # Numbers that are too large for it; a person reads this, so speed does not matter.
        return json.dumps(json.loads(body), indent=2, ensure_ascii=False).encode()


class Streams:
    """The open streams of a server, so that all can be ended when it stops."""

    def __init__(self) -> None:
        self._open: set[asyncio.Timeout] = set()
        self._ended = False

    def __len__(self) -> int:
        return len(self._open)

    def end_all(self) -> None:
        """End every stream, also those that start later."""
        self._ended = True
        for stream in tuple(self._open):
            self._end(stream)

    async def send(
        self,
        request: Request,
        stream: StreamResponse,
        *,
        send: Send,
        receive: Receive,
        abort: Callable[[], None] | None = None,
    ) -> None:
        """Send a chunked answer until its chunks end, the client goes away or the server stops.

        `abort` closes the connection at once; called where the answer cannot be brought to its end.
        """
        headers = header_list(request, stream)
        await send({"type": "http.response.start", "status": stream.status, "headers": headers})
        # An empty first part makes the server write the headers at once.
        await send({"type": "http.response.body", "body": b"", "more_body": True})
        gone = asyncio.ensure_future(disconnected(receive))
        try:
            if not await self._send_chunks(stream, send, gone) and abort is not None:
                abort()
                await gone
                return
        finally:
            gone.cancel()
        await send({"type": "http.response.body", "body": b""})

    def _end(self, stream: asyncio.Timeout) -> None:
        if stream in self._open and not stream.expired():
            stream.reschedule(asyncio.get_running_loop().time())

    async def _send_chunks(self, stream: StreamResponse, send: Send, gone: asyncio.Future[None]) -> bool:
        """Whether the answer came to its end, if it has one."""
        chunks = stream.chunks
        async with aclosing(cast(Any, chunks)):
            try:
                # A deadline that is set from outside ends the wait wherever it is.
                async with asyncio.timeout(0 if self._ended else stream.limit_s) as scope:
                    self._open.add(scope)
                    gone.add_done_callback(lambda _: self._end(scope))
                    async for chunk in chunks:
                        await send({"type": "http.response.body", "body": chunk, "more_body": True})
            except Cut:
                return False
            except TimeoutError:
                if not scope.expired():
                    raise
                return stream.limit_s is None
            finally:
                self._open.discard(scope)
        return True


async def disconnected(receive: Receive) -> None:
    """Wait until the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
