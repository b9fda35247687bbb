"""A webhook server with TLS on a free port, whose answers a test decides."""

import asyncio
import base64
import ssl
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from kinepy_server.auth.pki import ServerFiles, ensure_pki

Json = dict[str, Any]
Answer = Callable[[Json], Json | bytes | None]
"""From an AdmissionReview's request to the response, or to a raw body; None to stay silent."""


@cache
def pki() -> ServerFiles:
    """A CA of the tests' own, and what it signed for the webhook servers."""
    return ensure_pki(Path(tempfile.mkdtemp()), ["127.0.0.1"], now=datetime.now(UTC))


def ca_bundle() -> str:
    """The CA as webhook configurations hold it."""
    return base64.b64encode(pki().ca.read_bytes()).decode()


def allow(request: Json) -> Json:
    """Allow everything."""
    return {"uid": request["uid"], "allowed": True}


def patching(*operations: Json) -> Answer:
    """Allow, with a JSON patch."""
    patch = base64.b64encode(orjson.dumps(operations)).decode()
    return lambda request: {**allow(request), "patchType": "JSONPatch", "patch": patch}


def deny(**status: Any) -> Answer:
    """Refuse with a Status."""
    return lambda request: {"uid": request["uid"], "allowed": False, "status": status}


class HookServer:
    """Answers every POST; keeps the requests that it got."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.requests: list[Json] = []
        self.url = ""
        self.connections: set[asyncio.StreamWriter] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        self.connections.add(writer)
        try:
            while await self._one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.connections.discard(writer)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")
        )
        request = orjson.loads(await reader.readexactly(length))["request"]
        self.requests.append(request)
        answer = self.answer(request)
        if answer is None:
            await reader.read()
            return False
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer}
        body = answer if isinstance(answer, bytes) else orjson.dumps(review)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
        await writer.drain()
        return True


@asynccontextmanager
async def hook_server(answer: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[HookServer]:
    """A running webhook server."""
    hooks = HookServer(answer)
    if tls is None:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(pki().chain)
    server = await asyncio.start_server(hooks.serve, "127.0.0.1", 0, ssl=tls)
    hooks.url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
    try:
        yield hooks
    finally:
        server.close()
        # Clients in other processes keep their connections.
        for connection in hooks.connections:
            connection.transport.abort()
        while hooks.connections:  # noqa: ASYNC110 each goes by itself
            await asyncio.sleep(0)
