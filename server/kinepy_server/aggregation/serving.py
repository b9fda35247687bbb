"""Serving a request by asking the backend of its group version, for as long as the client is there."""

import asyncio

from kinepy_server.aggregation.apiservice import ApiService
from kinepy_server.aggregation.failures import Unreachable, unavailable, unreachable
from kinepy_server.answer import Receive, disconnected
from kinepy_server.context import Context
from kinepy_server.request import Request
from kinepy_server.response import Response, StreamResponse
from kinepy_server.seams import Scope


async def proxied(
    context: Context, request: Request, service: ApiService, *, scope: Scope, receive: Receive
) -> Response | StreamResponse:
    """The backend's answer to an authorized request. A client that goes away takes its request with it.

    A watch gives its place up when it has begun: it may last for hours, and keeps no other request out. So does one
    that the backend lets wait for longer than other requests may take.
    """
    proxy = context.aggregation.proxy
    if proxy is None:
        raise unavailable()
    client = scope.get("client") or ("",)
    websocket = request.headers.get("upgrade", "").lower() == "websocket"
    asking = asyncio.ensure_future(
        proxy.forward(request, service, client=str(client[0]), websocket=websocket)
    )
    gone = asyncio.ensure_future(disconnected(receive))
    leaving = None
    if request.verb == "watch":
        leaving = asyncio.get_running_loop().call_later(context.settings.request_timeout_s, request.leave)
    try:
        await asyncio.wait((asking, gone), return_when=asyncio.FIRST_COMPLETED)
    except BaseException:
        asking.add_done_callback(_drop)
        raise
    finally:
        gone.cancel()
        if leaving is not None:
            leaving.cancel()
        if not asking.done():
            asking.cancel()
    if asking.done():
        answer = asking.result()
        if request.verb == "watch" and isinstance(answer, StreamResponse):
            request.leave()
        return answer
    asking.add_done_callback(_drop)
    raise unreachable(Unreachable("context canceled"))


def _drop(asking: "asyncio.Future[Response | StreamResponse]") -> None:
    """Close what came too late."""
    if asking.cancelled() or asking.exception() is not None:
        return
    answer = asking.result()
    if isinstance(answer, StreamResponse):
        closing = asyncio.ensure_future(answer.chunks.aclose())  # type: ignore[attr-defined]  # all of ours have it
        _closing.add(closing)
        closing.add_done_callback(_closing.discard)


_closing: set["asyncio.Future[None]"] = set()
"""Kept until they are done: the event loop itself does not."""
