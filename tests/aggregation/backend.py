"""A server behind kinepy: TLS on a free port, a tiny API of flunders, whose answers a test may replace."""

import asyncio
import base64
import ssl
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from kinepy_server.auth.pki import ServerFiles, ensure_pki

Json = dict[str, Any]
GROUP, VERSION = "wardle.example.com", "v1alpha1"
ROOT = f"/apis/{GROUP}/{VERSION}"
FLUNDERS = f"{ROOT}/namespaces/default/flunders"
NAME = "flunders"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_VERBS = ["create", "delete", "get", "list", "watch"]


@cache
def pki(name: str = NAME) -> ServerFiles:
    """An authority of the tests' own, and what it signed for the Service of a name."""
    return ensure_pki(Path(tempfile.mkdtemp()), [f"{name}.default.svc"], now=datetime.now(UTC))


def ca_bundle(name: str = NAME) -> str:
    """The authority as an APIService holds it."""
    return base64.b64encode(pki(name).ca.read_bytes()).decode()


@dataclass
class Asked:
    """A request as the backend got it. Names of headers are in lower case."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes
    certificate: bytes | None
    writer: asyncio.StreamWriter = field(repr=False)

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    def header(self, name: str) -> list[str]:
        """Every value of a header."""
        return [value for key, value in self.headers if key == name]

    async def answer(self, status: int, body: bytes, **headers: str) -> None:
        """A whole answer."""
        told = {"content-type": "application/json", "content-length": str(len(body))} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())
        self.writer.write(f"HTTP/1.1 {status} OK\r\n{lines}\r\n".encode() + body)
        await self.writer.drain()

    async def begin(self, content_type: str = "application/json") -> None:
        """The head of an answer in chunks."""
        head = f"HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n"
        self.writer.write(head.encode())
        await self.writer.drain()

    async def chunk(self, data: bytes) -> None:
        """A part of an answer in chunks; an empty one is the last."""
        self.writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        await self.writer.drain()


Answer = Callable[[Asked], Awaitable[None]]


class Backend:
    """Answers as `answer` does, or as an API of flunders where that is None. Keeps what it was asked by clients."""

    def __init__(self) -> None:
        self.answer: Answer | None = None
        self.asked: list[Asked] = []
        self.flunders: dict[str, Json] = {}
        self.events: asyncio.Queue[Json] = asyncio.Queue()
        self.left = asyncio.Event()
        """Set when a client has left in the middle of a watch."""
        self.aggregated = True
        self.port = 0
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self, tls: ssl.SSLContext) -> None:
        """Listen: at a free port, then at the same again."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=tls)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Be gone, with all connections."""
        if self._server is not None:
            self._server.close()
            for task in self._connections:
                task.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)
            self._server = None
            # Nothing tells of handshakes that were under way; the loop must not end before they have.
            await asyncio.sleep(0.05)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while True:
                asked = await _read(reader, writer)
                if _is_clients(asked):
                    self.asked.append(asked)
                await (self.answer or self._flunders)(asked)
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)
            # Closing would wait for the farewell of a client that may be gone.
            writer.transport.abort()

    async def _flunders(self, asked: Asked) -> None:
        if asked.path == "/apis" and self.aggregated:
            await asked.answer(200, orjson.dumps(DISCOVERY), content_type=AGGREGATED)
        elif asked.path == ROOT:
            await asked.answer(200, orjson.dumps(RESOURCES))
        elif asked.path == "/openapi/v3":
            paths = {ROOT[1:]: {"serverRelativeURL": f"/openapi/v3{ROOT}?hash=1"}}
            await asked.answer(200, orjson.dumps({"paths": paths}))
        elif asked.path == f"/openapi/v3{ROOT}":
            await asked.answer(
                200, b'{"openapi":"3.0.0","info":{"title":"flunders","version":"1"},"paths":{}}'
            )
        elif asked.path.endswith("/flunders"):
            await self._collection(asked)
        elif asked.path.rpartition("/")[0].endswith("/flunders"):
            await self._one(asked, asked.path.rpartition("/")[2])
        else:
            await asked.answer(404, b"404 page not found\n", content_type="text/plain")

    async def _collection(self, asked: Asked) -> None:
        if "watch=" in asked.target:
            await self._watch(asked)
        elif asked.method == "POST":
            obj = orjson.loads(asked.body)
            obj["metadata"] |= {"uid": "u", "resourceVersion": "7", "namespace": "default"}
            self.flunders[obj["metadata"]["name"]] = obj
            await asked.answer(201, orjson.dumps(obj))
        else:
            items = list(self.flunders.values())
            listed = {"kind": "FlunderList", "apiVersion": f"{GROUP}/{VERSION}", "items": items}
            await asked.answer(200, orjson.dumps(listed | {"metadata": {"resourceVersion": "7"}}))

    async def _watch(self, asked: Asked) -> None:
        await asked.begin()
        try:
            while True:
                await asked.chunk(orjson.dumps(await self.events.get()) + b"\n")
        finally:
            self.left.set()

    async def _one(self, asked: Asked, name: str) -> None:
        if name not in self.flunders:
            status = {
                "kind": "Status",
                "apiVersion": "v1",
                "status": "Failure",
                "reason": "NotFound",
                "code": 404,
            }
            message = {"message": f'flunders.{GROUP} "{name}" not found'}
            await asked.answer(404, orjson.dumps(status | message))
        else:
            obj = self.flunders.pop(name) if asked.method == "DELETE" else self.flunders[name]
            await asked.answer(200, orjson.dumps(obj))


async def _read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = head[0].split(" ")
    headers = [
        (name.strip().lower(), value.strip())
        for name, _, value in (line.partition(":") for line in head[1:-2])
    ]
    length = int(dict(headers).get("content-length", "0"))
    body = await reader.readexactly(length)
    tls = writer.get_extra_info("ssl_object")
    return Asked(method, target, headers, body, tls.getpeercert(binary_form=True), writer)


def _is_clients(asked: Asked) -> bool:
    return "system:kube-aggregator" not in asked.header("x-remote-user")


def backend_tls(*, name: str = NAME, clients_of: str = "") -> ssl.SSLContext:
    """TLS for the Service of a name; clients must show a certificate of the authority `clients_of` (PEM) if given."""
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(pki(name).chain)
    if clients_of:
        tls.load_verify_locations(cadata=clients_of)
        tls.verify_mode = ssl.CERT_REQUIRED
    return tls


@asynccontextmanager
async def running_backend(tls: ssl.SSLContext | None = None) -> AsyncIterator[Backend]:
    """A running backend."""
    backend = Backend()
    await backend.start(tls or backend_tls())
    try:
        yield backend
    finally:
        await backend.stop()


def service(**spec: Any) -> Json:
    """The Service of the backend: a name outside, unless told otherwise."""
    return {"metadata": {"name": NAME}, "spec": spec or {"type": "ExternalName", "externalName": "127.0.0.1"}}


def api_service(port: int, **spec: Any) -> Json:
    """The APIService of flunders."""
    return {
        "metadata": {"name": f"{VERSION}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "version": VERSION,
            "groupPriorityMinimum": 2000,
            "versionPriority": 200,
            "caBundle": ca_bundle(),
            "service": {"namespace": "default", "name": NAME, "port": port},
        }
        | spec,
    }


def flunder(name: str = "a") -> Json:
    """A flunder."""
    return {"apiVersion": f"{GROUP}/{VERSION}", "kind": "Flunder", "metadata": {"name": name}}


RESOURCES = {
    "kind": "APIResourceList",
    "apiVersion": "v1",
    "groupVersion": f"{GROUP}/{VERSION}",
    "resources": [
        {
            "name": "flunders",
            "singularName": "flunder",
            "namespaced": True,
            "kind": "Flunder",
            "verbs": _VERBS,
        },
        {
            "name": "flunders/status",
            "singularName": "",
            "namespaced": True,
            "kind": "Flunder",
            "verbs": ["get"],
        },
    ],
}
DISCOVERED = [
    {
        "resource": "flunders",
        "responseKind": {"group": GROUP, "version": VERSION, "kind": "Flunder"},
        "scope": "Namespaced",
        "singularResource": "flunder",
        "verbs": _VERBS,
    }
]
DISCOVERY = {
    "kind": "APIGroupDiscoveryList",
    "apiVersion": "apidiscovery.k8s.io/v2",
    "metadata": {},
    "items": [
        {
            "metadata": {"name": GROUP},
            "versions": [{"version": VERSION, "resources": DISCOVERED, "freshness": "Current"}],
        }
    ],
}
