"""Deleting what other servers keep of a dying namespace, as their clients would."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import orjson

from kinepy_server.aggregation.apiservice import ApiService
from kinepy_server.aggregation.documents import CURRENT
from kinepy_server.aggregation.failures import Unreachable
from kinepy_server.aggregation.merging import Catalog
from kinepy_server.auth.user import AUTHENTICATED, SERVICE_ACCOUNT_PREFIX, User, service_account_groups
from kinepy_server.context import Context
from kinepy_server.controllers.namespace_conditions import Remaining
from kinepy_server.objects.metadata import is_named

if TYPE_CHECKING:
    from kinepy_server.aggregation.proxy import Proxy, Told

CONTROLLER: Final = User(
    f"{SERVICE_ACCOUNT_PREFIX}kube-system:namespace-controller",
    (*service_account_groups("kube-system"), AUTHENTICATED),
)
LIMIT_S: Final = 30.0
_LIST: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
_NOT_SERVED: Final = frozenset((404, 405))
Json = Mapping[str, Any]


async def delete_on_backends(context: Context, namespace: str, remaining: Remaining) -> None:
    """Delete all of it; what is held, and what cannot be found out, remains."""
    proxy = context.aggregation.proxy
    if proxy is None:
        return
    for service, document in _preferred(context, remaining):
        if "delete" in (document.get("verbs") or ()) and document.get("scope") == "Namespaced":
            plural = document["resource"]
            path = f"{service.path}/namespaces/{quote(namespace)}/{quote(plural, safe='')}"
            collection = _Collection(proxy, service, path, document)
            try:
                await collection.empty(remaining, name=f"{plural}.{service.group}")
            except Unreachable as error:
                remaining.failures.append(f"{path}: {error}")


def _preferred(context: Context, remaining: Remaining) -> Iterator[tuple[ApiService, Json]]:
    """Every resource that others serve, in its preferred version."""
    published = context.aggregation.published
    for group in Catalog(context.registry, published).groups():
        seen = set()
        for version in group.versions:
            service = context.aggregation.remote.get((group.name, version))
            if service is None or published is None:
                continue
            told = published.documents.get((group.name, version))
            if told is None or told.get("freshness", CURRENT) != CURRENT:
                remaining.undiscovered.append(f"{group.name}/{version}")
                continue
            for document in told.get("resources") or ():
                if document["resource"] not in seen:
                    seen.add(document["resource"])
                    yield service, document


@dataclass(frozen=True, slots=True)
class _Collection:
    """The objects of one resource in one namespace."""

    proxy: "Proxy"
    service: ApiService
    path: str
    resource: Json

    async def empty(self, remaining: Remaining, *, name: str) -> None:
        """Delete them all, and count what is left."""
        verbs = self.resource.get("verbs") or ()
        together = "deletecollection" in verbs and self._went_well(await self._delete(self.path), remaining)
        left = await self._list(remaining) if "list" in verbs else []
        if not together and left:
            for item in left:
                answer = await self._delete(f"{self.path}/{quote(item['metadata']['name'], safe='')}")
                self._went_well(answer, remaining)
            left = await self._list(remaining)
        for item in left:
            remaining.objects[name] += 1
            finalizers = item["metadata"].get("finalizers")
            remaining.finalizers.update(map(str, finalizers if isinstance(finalizers, list) else ()))

    async def _delete(self, path: str) -> "Told":
        target = f"{path}?propagationPolicy=Background"
        return await self.proxy.ask(self.service, target, method="DELETE", user=CONTROLLER, limit_s=LIMIT_S)

    async def _list(self, remaining: Remaining) -> list[Json]:
        answer = await self.proxy.ask(self.service, self.path, accept=_LIST, user=CONTROLLER, limit_s=LIMIT_S)
        if not self._went_well(answer, remaining):
            return []
        items = _object(answer).get("items") or []
        if not (isinstance(items, list) and all(map(is_named, items))):
            raise Unreachable("the backend's list holds what is no object")
        return items

    def _went_well(self, answer: "Told", remaining: Remaining) -> bool:
        """Whether it was done; what was not, though it is served, is noted."""
        if answer.status in _NOT_SERVED:
            return False
        if answer.status >= 300:
            why = _object(answer).get("message") or f"the backend answered {answer.status}"
            remaining.failures.append(f"{self.path}: {why}")
        return answer.status < 300


def _object(answer: "Told") -> Json:
    try:
        value = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        value = None
    return value if isinstance(value, dict) else {}
