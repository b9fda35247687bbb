"""What the tests of aggregation say again and again."""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from kinepy import Store
from kinepy_server.aggregation.following import API_SERVICES
from kinepy_server.aggregation.state import FINDING, ProxyIdentity
from kinepy_server.auth.front_proxy import FrontProxy
from tests.aggregation.backend import FLUNDERS, GROUP, VERSION, Backend, api_service, service
from tests.http.writing import Reply

API_SERVICES_PATH = "/apis/apiregistration.k8s.io/v1/apiservices"
OWN = f"{API_SERVICES_PATH}/{VERSION}.{GROUP}"
SERVICES = "/api/v1/namespaces/default/services"
PATIENCE_S = 20.0
AGGREGATED = {"accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}


class Stored(Protocol):
    """Whatever has the store at hand; a `Context` does."""

    @property
    def store(self) -> Store: ...


class Asking(Protocol):
    """Whatever sends requests; an `Api` does."""

    async def get(self, target: str) -> Reply: ...
    async def post(self, target: str, body: Any) -> Reply: ...


def condition(obj: Any) -> Any:
    """The condition `Available`, without its time."""
    conditions = (obj.get("status") or {}).get("conditions") or []
    return next(({**one, "lastTransitionTime": ""} for one in conditions if one["type"] == "Available"), None)


async def when(context: Stored, api: Asking, path: str, holds: Callable[[Reply], bool]) -> Reply:
    """What is at a path, as soon as something holds of it: looked at after every change of an APIService."""
    async with asyncio.timeout(PATIENCE_S), context.store.watch(API_SERVICES) as watch:
        while not holds(reply := await api.get(path)):
            await watch.next(timeout_s=0.05)
    return reply


async def available(context: Stored, api: Asking, reason: str, path: str = OWN) -> Any:
    """The condition, as soon as it has a reason."""
    found = await when(
        context, api, path, lambda reply: (condition(reply.body) or {}).get("reason") == reason
    )
    return condition(found.body)


async def aggregate(context: Stored, api: Asking, backend: Backend, **spec: Any) -> None:
    """Put the backend behind the server; returns when its API is proxied."""
    assert (await api.post(SERVICES, service())).code == 201
    assert (await api.post(API_SERVICES_PATH, api_service(backend.port, **spec))).code == 201
    await available(context, api, "Passed")
    await when(context, api, FLUNDERS, lambda reply: reply.content != b"service unavailable\n")
    backend.asked.clear()


async def found_again(identity: ProxyIdentity) -> FrontProxy:
    """The certificate, after it was looked for again."""
    await identity.front_proxy()
    for task in asyncio.all_tasks():
        if task.get_name() == FINDING:
            await task
    return await identity.front_proxy()
