"""An open store behind a listening socket: the application put together and run by uvicorn."""

import asyncio
import socket
import ssl
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import uvicorn

from kinepy import Store
from kinepy_server.aggregation.state import ProxyIdentity
from kinepy_server.app import create_app
from kinepy_server.auth.guard import Guard
from kinepy_server.auth.oidc import oidc_pages
from kinepy_server.auth.setup import Security, guarding
from kinepy_server.auth.tls import ServedTls, Tls, odd_names_untold
from kinepy_server.bounded_http import BoundedHttpProtocol
from kinepy_server.context import Context
from kinepy_server.custom.given import apply_definitions
from kinepy_server.discovery import discovery_pages
from kinepy_server.flow.connections import Connections
from kinepy_server.health import GROUPS, handle_health
from kinepy_server.metrics import HttpMetrics
from kinepy_server.metrics_text import MetricsPage
from kinepy_server.openapi import openapi_pages
from kinepy_server.peer_certificate import WebSocketProtocol
from kinepy_server.request import Request
from kinepy_server.resources.builtins import builtin_registry
from kinepy_server.resources.resource import JsonObject
from kinepy_server.seams import Page
from kinepy_server.served import Served
from kinepy_server.server_settings import ServerSettings
from kinepy_server.version import handle_version

BACKLOG = 4096
ACCEPTED_AT_ONCE = 32
KEEP_ALIVE_S = 120
GRACE_S = 10
"""How long requests that run may take to finish when the server stops."""
DROP_PAUSE_S = 0.1


class HttpServer(uvicorn.Server):
    """uvicorn without its own signal handling: `stop` decides when it ends, `on_ready` hears when it serves."""

    def __init__(self, config: uvicorn.Config, *, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then tell."""
        await super().startup(sockets)
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, let requests finish, and do not wait for clients that merely keep a connection."""
        closer = asyncio.create_task(self._drop_idle_connections())
        try:
            await super().shutdown(sockets)
        finally:
            closer.cancel()

    async def _drop_idle_connections(self) -> None:
        # Closing a TLS connection waits for the client's farewell, which an idle client never says.
        state = self.server_state
        while True:
            await asyncio.sleep(DROP_PAUSE_S)
            for connection in list(state.connections) if not state.tasks else ():
                if connection.transport.get_write_buffer_size() == 0:
                    connection.transport.abort()


async def serve(
    store: Store,
    sock: socket.socket,
    *,
    security: Security,
    controllers: Collection[str],
    settings: ServerSettings,
    stop: asyncio.Event,
    on_ready: Callable[[], None],
    tls: Tls | None = None,
    root_ca: str = "",
    definitions: Sequence[JsonObject] = (),
) -> None:
    """Serve until `stop`: watches are ended first, then running requests get `GRACE_S` to finish.

    `definitions` of custom resources are applied before.
    """
    host, port = sock.getsockname()[:2]
    registry = builtin_registry() if security.delegation is None else builtin_registry().showing_parts()
    context = Context(store, registry, settings, served=Served(f"{host}:{port}", root_ca))
    context.aggregation.identity = _proxy_identity(security)
    metrics = HttpMetrics(served_by(context))
    async with guarding(context, security) as guard:
        await apply_definitions(context, definitions)
        app = create_app(
            context,
            authenticate=guard.authenticate,
            authorize=guard.authorize,
            pages=pages(metrics),
            controllers=controllers,
            observer=metrics,
        )
        config = _config(app, context.flow.connections)
        served_tls = _served_tls(tls, guard, context)
        if served_tls is not None:
            config.load()
            config.ssl = served_tls.context
        server = HttpServer(config, on_ready=on_ready)
        context.flow.connections.members = server.server_state.connections
        async with asyncio.TaskGroup() as tasks:
            beside = [tasks.create_task(_stop_cleanly(server, context, stop))]
            if served_tls is not None:
                beside.append(tasks.create_task(served_tls.follow()))
            with odd_names_untold():
                await server.serve(listeners(sock))
            for task in beside:
                task.cancel()


def _served_tls(tls: Tls | None, guard: Guard, context: Context) -> ServedTls | None:
    if tls is None:
        return None
    identity = context.aggregation.identity

    def attach(made: ssl.SSLContext, client_ca: str) -> None:
        if guard.authorities is not None:
            guard.authorities.attach(made, client_ca)
        identity.client_ca = client_ca

    return ServedTls(tls, attach=attach, clock=context.clock)


def _proxy_identity(security: Security) -> ProxyIdentity:
    """By what backends know the server: told to them from the start where clients are known at all."""
    identity = ProxyIdentity(publish=not security.everyone_is_admin)
    if security.find_front_proxy is not None:
        identity.find = security.find_front_proxy
    return identity


def listeners(sock: socket.socket) -> list[socket.socket]:
    """The socket, and others for the same queue of connections.

    uvloop takes one connection from a socket each time round, however long that time is: when much is to be
    done, a thousand new clients would wait for a thousand rounds.
    """
    return [sock, *(sock.dup() for _ in range(ACCEPTED_AT_ONCE - 1))]


async def _stop_cleanly(server: HttpServer, context: Context, stop: asyncio.Event) -> None:
    await stop.wait()
    context.shutdown.set()
    server.should_exit = True


def served_by(context: Context) -> Callable[[Request], bool]:
    """Whether the server knows the resource and subresource of a request by now."""

    def is_served(request: Request) -> bool:
        resource = context.registry.shown.lookup(request.group, request.version, request.resource)
        return resource is not None and (
            not request.subresource or request.subresource in resource.subresources
        )

    return is_served


def pages(metrics: HttpMetrics) -> Sequence[Page]:
    """Every path outside the resources."""
    health = [Page(f"/{name}{below}", handle_health) for name in GROUPS for below in ("", "/*")]
    version = Page("/version", handle_version)
    own = (version, *health, Page("/metrics", MetricsPage(metrics)))
    return [*discovery_pages(), *openapi_pages(), *oidc_pages(), *own]


def _config(app: object, connections: Connections) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type]  # uvicorn's protocol for ASGI is narrower than ASGI
        http=partial(BoundedHttpProtocol, connections=connections),  # type: ignore[arg-type]  # makes one
        ws=WebSocketProtocol,
        ws_per_message_deflate=False,
        loop="none",
        lifespan="on",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=GRACE_S,
    )
