"""What the application is given from outside: who the client is, what it may do, who keeps count."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from kinepy_server.auth.user import User
from kinepy_server.context import Context
from kinepy_server.request import Request
from kinepy_server.resources.resource import Resource
from kinepy_server.response import Response, StreamResponse

Answer: TypeAlias = Response | StreamResponse

Handler: TypeAlias = Callable[[Context, Request, Resource], Awaitable[Answer]]
"""A handler of resource requests; raises StatusError, PlainError or the library's errors."""

PageHandler: TypeAlias = Callable[[Context, Request], Awaitable[Answer]]
"""A handler of a path that is no resource, such as discovery, /version or /healthz."""

CLIENT_CERTIFICATE = "kinepy.client_certificate"
"""The key of an ASGI scope under which the certificate of the client stands, if it showed one: the chain by which it
was verified (DER), its own first."""

CONNECTION = "kinepy.connection"
"""The key of an ASGI scope under which the connection stands, where the server gives it (`sending.Connection`)."""

Scope: TypeAlias = Mapping[str, Any]

Authenticate: TypeAlias = Callable[[Mapping[str, str], Scope], User | Awaitable[User | None] | None]
"""The headers, and the ASGI scope that they are from, to the user; None when credentials are wrong.

Answers from memory nearly always; an awaitable comes where the store, or another server, must be asked.
"""

Authorize: TypeAlias = Callable[[Request], Awaitable[None] | None]
"""Raises the 403 StatusError when `request.user` may not do the request, or answers with what is to be awaited and
raises it. Answers from memory nearly always."""


@dataclass(frozen=True, slots=True)
class Page:
    """A path outside the resources. A path that ends in `/*` also serves everything below it.

    The longest path that fits wins. Other methods than `methods` are 405.
    """

    path: str
    handler: PageHandler
    methods: Sequence[str] = ("GET",)


class Observer(Protocol):
    """Keeps count of requests. Every method is called on the hot path."""

    def finished(self, request: Request, *, code: int, seconds: float) -> None:
        """A request was answered; a stream when it ended."""
        ...

    def stream_started(self, request: Request) -> None:
        """A watch's headers were sent."""
        ...

    def stream_finished(self, request: Request) -> None:
        """The watch ended."""
        ...
