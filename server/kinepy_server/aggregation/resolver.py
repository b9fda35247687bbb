"""Looking up where Services lead to, in what this process knows of the store."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import orjson

from kinepy import KeyRange, Store
from kinepy.clock import Clock
from kinepy.errors import InvalidKey
from kinepy_server.aggregation.apiservice import ServiceReference
from kinepy_server.aggregation.endpoints import (
    SERVICE_LABEL,
    Address,
    Json,
    Slice,
    Unresolved,
    addresses,
    slices_of,
    subsets_of,
)

SERVICES = b"/registry/services/specs/"
ENDPOINTS = b"/registry/services/endpoints/"
SLICES = b"/registry/endpointslices/"
FRESH_S = 1.0
"""So long an answer is used again: a busy backend is not looked up for every request."""
_KNOWN_MAX = 1024


@dataclass(frozen=True, slots=True)
class Found:
    """A Service with what it leads to; `service` is None when there is none."""

    service: Json | None
    slices: Sequence[Slice] = ()


async def look_up(store: Store, reference: ServiceReference) -> Found:
    """The Service and its endpoints as this process knows them."""
    place = f"{reference.namespace}/{reference.name}".encode()
    try:
        kv = await store.get(SERVICES + place, consistent=False)
    except InvalidKey:
        # A name too long for any Service: nobody holds references to that rule.
        return Found(None)
    if kv is None:
        return Found(None)
    service = orjson.loads(kv.value)
    if (service.get("spec") or {}).get("type") == "ExternalName":
        return Found(service)
    namespace = KeyRange.prefix(SLICES + reference.namespace.encode() + b"/")
    page = await store.range(namespace, consistent=False)
    named = f'"{SERVICE_LABEL}":{orjson.dumps(reference.name).decode()}'.encode()
    objects = [orjson.loads(kv.value) for kv in page.items if named in kv.value]
    slices = [*slices_of(one for one in objects if _is_of(one, reference.name))]
    if not slices:
        kv = await store.get(ENDPOINTS + place, consistent=False)
        slices = [*subsets_of(orjson.loads(kv.value))] if kv is not None else []
    return Found(service, slices)


def _is_of(obj: Json, service: str) -> bool:
    return bool((obj["metadata"].get("labels") or {}).get(SERVICE_LABEL) == service)


class Resolver:
    """Finds a server of a Service, another one each time where there are several."""

    def __init__(self, store: Store, *, clock: Clock, random: Random) -> None:
        self._store, self._clock, self._random = store, clock, random
        self._known: dict[ServiceReference, tuple[float, Sequence[Address]]] = {}

    async def resolve(self, reference: ServiceReference) -> Address:
        """Where to send a request. Raises Unresolved."""
        now = self._clock.monotonic()
        known = self._known.get(reference)
        if known is None or known[0] < now:
            found = await self.all(reference)
            if len(self._known) >= _KNOWN_MAX:
                self._known.clear()
            known = self._known[reference] = (now + FRESH_S, found)
        return known[1][0] if len(known[1]) == 1 else self._random.choice(known[1])

    async def all(self, reference: ServiceReference) -> Sequence[Address]:
        """Every server of a Service, as of now. Raises Unresolved."""
        found = await look_up(self._store, reference)
        if found.service is None:
            raise Unresolved(f'service "{reference.name}" not found')
        return addresses(found.service, reference.port, found.slices)

    def forget(self, reference: ServiceReference) -> None:
        """Look it up anew: it has led to where nobody is."""
        self._known.pop(reference, None)
