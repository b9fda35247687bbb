"""What the tests of writes share: the application called without a socket, on a store with the system's namespaces."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import orjson

from kinepy_server.app import Application, create_app
from kinepy_server.auth.authenticate import EveryoneIsAdmin
from kinepy_server.auth.authorize import Access
from kinepy_server.auth.authorizer import AlwaysAllow
from kinepy_server.context import Context
from kinepy_server.controllers import running_controllers
from kinepy_server.seams import Page

CORE = "/api/v1/namespaces/default"
CONFIGMAPS = f"{CORE}/configmaps"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
MERGE, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"


@dataclass(frozen=True)
class Reply:
    """An answer. `body` is parsed when it is JSON."""

    code: int
    headers: Sequence[tuple[str, str]]
    content: bytes

    @property
    def body(self) -> Any:
        return orjson.loads(self.content)

    @property
    def version(self) -> str:
        """The resourceVersion of the object in the answer."""
        found: str = self.body["metadata"]["resourceVersion"]
        return found

    @property
    def message(self) -> str:
        """The message of the Status in the answer."""
        found: str = self.body["message"]
        return found

    def header(self, name: str) -> list[str]:
        """Every value of a header."""
        return [value for key, value in self.headers if key == name]


@dataclass(frozen=True)
class Api:
    """Sends requests to an application."""

    app: Application

    async def __call__(
        self,
        method: str,
        target: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """One request; a body that is not bytes is sent as JSON."""
        content = body if isinstance(body, bytes) else b"" if body is None else orjson.dumps(body)
        sent = {"user-agent": "tests/1", "content-type": content_type, **(headers or {})}
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
        }
        messages: list[Mapping[str, Any]] = []

        body_parts = iter([content])

        async def receive() -> Any:
            part = next(body_parts, None)
            if part is None:
                await asyncio.Event().wait()  # this client stays
            return {"type": "http.request", "body": part, "more_body": False}

        async def send(message: Any) -> None:
            messages.append(message)

        await self.app(scope, receive, send)
        found = [(name.decode(), value.decode()) for name, value in messages[0]["headers"]]
        return Reply(messages[0]["status"], found, b"".join(m.get("body", b"") for m in messages[1:]))

    async def post(self, target: str, body: Any, **options: Any) -> Reply:
        return await self("POST", target, body, **options)

    async def put(self, target: str, body: Any, **options: Any) -> Reply:
        return await self("PUT", target, body, **options)

    async def patch(self, target: str, body: Any, *, content_type: str = MERGE, **options: Any) -> Reply:
        return await self("PATCH", target, body, content_type=content_type, **options)

    async def get(self, target: str, **options: Any) -> Reply:
        return await self("GET", target, **options)

    async def delete(self, target: str, body: Any = None, **options: Any) -> Reply:
        return await self("DELETE", target, body, **options)


@asynccontextmanager
async def api_over(
    context: Context, *, controllers: Sequence[str] = (), pages: Sequence[Page] = ()
) -> AsyncIterator[Api]:
    """An application over a context, everyone admin."""
    app = create_app(
        context,
        authenticate=EveryoneIsAdmin(),
        authorize=Access(AlwaysAllow()),
        pages=pages,
        controllers=controllers,
    )
    async with running_controllers(context, controllers):
        yield Api(app)


def configmap(name: str = "a", data: Mapping[str, str] | None = None, **metadata: Any) -> dict[str, Any]:
    """A ConfigMap as a client sends it."""
    obj: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **metadata},
    }
    return {**obj, "data": data} if data is not None else obj


def managers(reply: Reply) -> dict[str, Any]:
    """The fields in managedFields by manager."""
    entries = reply.body["metadata"].get("managedFields", [])
    return {entry["manager"]: entry["fieldsV1"] for entry in entries}
