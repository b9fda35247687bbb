"""Asking backends which resources they have: when something changes, and once a minute."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

from kinepy.errors import KinepyError, StoreClosed
from kinepy_server.aggregation.apiservice import ApiService, ServiceReference
from kinepy_server.aggregation.documents import (
    CURRENT,
    STALE,
    BadDocument,
    GroupVersion,
    Json,
    entry,
    of_all,
    of_one,
    openapi_paths,
)
from kinepy_server.aggregation.failures import Unreachable
from kinepy_server.aggregation.proxy import Proxy
from kinepy_server.lasting import in_background

_log = logging.getLogger("kinepy.aggregation")
REFRESH_S = 60.0
RETRY_FIRST_S, RETRY_MAX_S = 0.1, 30.0
_FORM = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
_ACCEPT = f"{_FORM.format('v2')},{_FORM.format('v2beta1')},application/json"


class Discoverer:
    """Keeps what backends tell. One task for each Service: one that hangs does not keep others waiting."""

    def __init__(self, proxy: Proxy, tell: Callable[[], None]) -> None:
        """`tell` is called after every change."""
        self._proxy, self._tell = proxy, tell
        self.documents: dict[GroupVersion, Json] = {}
        self.openapi: dict[str, str] = {}
        self._services: dict[ServiceReference, Sequence[ApiService]] = {}
        self._woken: dict[ServiceReference, asyncio.Event] = {}
        self._tasks: dict[ServiceReference, asyncio.Task[None]] = {}

    def look_at(self, remote: Iterable[ApiService]) -> None:
        """These are the group versions that others serve now. Those of a Service that have changed are asked about."""
        services: dict[ServiceReference, list[ApiService]] = {}
        for one in remote:
            assert one.service is not None
            services.setdefault(one.service, []).append(one)
        for reference in self._services.keys() - services.keys():
            self._tasks.pop(reference).cancel()
            del self._woken[reference]
        for reference, found in services.items():
            if reference not in self._tasks:
                self._woken[reference] = asyncio.Event()
                self._tasks[reference] = in_background(
                    self._keep(reference), name=f"discovery of {reference.server_name}"
                )
            elif self._services[reference] != found:
                self._woken[reference].set()
        self._services = dict(services)
        served = {one.group_version for found in services.values() for one in found}
        for gone in self.documents.keys() - served:
            del self.documents[gone]
        paths = {_openapi_path(*group_version) for group_version in served}
        for path in self.openapi.keys() - paths:
            del self.openapi[path]

    async def close(self) -> None:
        """Ask nobody any more."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _keep(self, reference: ServiceReference) -> None:
        retry_s = RETRY_FIRST_S
        while True:
            self._woken[reference].clear()
            try:
                told = await self._refresh(self._services[reference])
            except StoreClosed:
                return
            except KinepyError as error:
                _log.warning(
                    "where %s leads to cannot be looked up for the moment: %s", reference.name, error
                )
                told = False
            if told:
                wait_s, retry_s = REFRESH_S, RETRY_FIRST_S
            else:
                wait_s, retry_s = retry_s, min(2 * retry_s, RETRY_MAX_S)
            try:
                async with asyncio.timeout(wait_s):
                    await self._woken[reference].wait()
            except TimeoutError:
                continue

    async def _refresh(self, services: Sequence[ApiService]) -> bool:
        """Ask about the group versions of one Service; whether all was told."""
        told: Mapping[GroupVersion, Json] = {}
        paths: Mapping[str, str] = {}
        there = [one for one in services if one.available]
        try:
            if there:
                told = await self._told(there)
                paths = await self._openapi(there[0])
        except (Unreachable, BadDocument) as error:
            _log.info("%s tells nothing of its resources: %s", services[0].name, error)
            told, there = {}, []
        for one in services:
            freshness = CURRENT if one in there else STALE
            self.documents[one.group_version] = entry(
                one.version, told.get(one.group_version), freshness=freshness
            )
            path = _openapi_path(*one.group_version)
            if path in paths:
                self.openapi[path] = paths[path]
            elif one in there:
                self.openapi.pop(path, None)
        self._tell()
        return len(there) == len(services)

    async def _told(self, services: Sequence[ApiService]) -> Mapping[GroupVersion, Json]:
        answer = await self._proxy.ask(services[0], "/apis", accept=_ACCEPT)
        if answer.status == 200 and "as=APIGroupDiscoveryList" in answer.headers.get("content-type", ""):
            return of_all(answer.body)
        # One that does not know the aggregated form is asked about each group version.
        return {one.group_version: await self._one(one) for one in services}

    async def _one(self, service: ApiService) -> Json:
        answer = await self._proxy.ask(service, service.path)
        if answer.status != 200:
            raise Unreachable(f"the answer to {service.path} is {answer.status}")
        return of_one(answer.body)

    async def _openapi(self, service: ApiService) -> Mapping[str, str]:
        answer = await self._proxy.ask(service, "/openapi/v3")
        return openapi_paths(answer.body) if answer.status == 200 else {}


def _openapi_path(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"
