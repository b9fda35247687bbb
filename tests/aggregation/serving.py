"""A kinepy on a real socket, in the loop of the test."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import orjson

from kinepy import Store, open_store
from kinepy_server.auth.setup import INSECURE, Security
from kinepy_server.server import serve
from kinepy_server.server_settings import ServerSettings
from tests.http.writing import Reply


@dataclass
class Served:
    """What a test needs of it."""

    store: Store
    http: httpx.AsyncClient
    port: int
    stop: asyncio.Event

    async def get(self, target: str) -> Reply:
        return _reply(await self.http.get(target))

    async def post(self, target: str, body: Any) -> Reply:
        return _reply(await self.http.post(target, content=orjson.dumps(body)))


def _reply(response: httpx.Response) -> Reply:
    return Reply(response.status_code, list(response.headers.multi_items()), response.content)


@asynccontextmanager
async def served(
    *, security: Security = INSECURE, settings: ServerSettings | None = None
) -> AsyncIterator[Served]:
    """A server over memory, plain HTTP."""
    stop, ready = asyncio.Event(), asyncio.Event()
    with socket.create_server(("127.0.0.1", 0)) as sock:
        sock.setblocking(False)
        port = sock.getsockname()[1]
        async with (
            open_store("sqlite:///:memory:") as store,
            httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=20) as http,
        ):
            running = asyncio.create_task(
                serve(
                    store,
                    sock,
                    security=security,
                    controllers=frozenset(),
                    settings=settings or ServerSettings(),
                    stop=stop,
                    on_ready=ready.set,
                )
            )
            try:
                await ready.wait()
                yield Served(store, http, port, stop)
            finally:
                stop.set()
                await running
