"""Whether the backend of an APIService is there: what its Service says, then what it says itself."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from kinepy_server.aggregation.apiservice import AVAILABLE, ApiService
from kinepy_server.aggregation.endpoints import Address, Unresolved, addresses, port_name
from kinepy_server.aggregation.failures import Unreachable
from kinepy_server.aggregation.headers import identity
from kinepy_server.aggregation.proxy import AGGREGATOR
from kinepy_server.aggregation.resolver import Found
from kinepy_server.aggregation.transport import Message, Transport
from kinepy_server.resources.resource import JsonObject

ATTEMPTS = 5
PROBE_S = 5.0


@dataclass(frozen=True, slots=True)
class Availability:
    """What the condition `Available` is to say."""

    status: str
    reason: str
    message: str


LOCAL = Availability("True", "Local", "Local APIServices are always available")
PASSED = Availability("True", "Passed", "all checks passed")


def _missing(reason: str, message: str) -> Availability:
    return Availability("False", reason, message)


def by_service(service: ApiService, found: Found) -> Availability | None:
    """What keeps the backend from being reached; None when nothing does, as far as the Service tells. Pure."""
    reference = service.service
    assert reference is not None, "only what others serve is checked"
    named = f'service/{reference.name} in "{reference.namespace}"'
    if found.service is None:
        return _missing("ServiceNotFound", f"{named} is not present")
    if ((found.service.get("spec") or {}).get("type") or "ClusterIP") != "ClusterIP":
        return None
    port = port_name(found.service, reference.port)
    if port is None:
        return _missing("ServicePortError", f"{named} is not listening on port {reference.port}")
    if not found.slices:
        return _missing("EndpointsNotFound", f"cannot find endpointslices for {named}")
    if not any(one.hosts and port in one.ports for one in found.slices):
        return _missing(
            "MissingEndpoints", f'endpointslices for {named} have no addresses with port name "{port}"'
        )
    return None


async def check(service: ApiService, found: Found, *, transport: Transport, random: Random) -> Availability:
    """Whether the backend is there and serves its group version."""
    if service.service is None:
        return LOCAL
    missing = by_service(service, found)
    if missing is not None:
        return missing
    assert found.service is not None
    try:
        places = addresses(found.service, service.service.port, found.slices)
    except Unresolved as error:
        return _missing("FailedDiscoveryCheck", str(error))
    problem = await _first_success(service, random.sample(places, min(len(places), ATTEMPTS)), transport)
    return PASSED if problem is None else _missing("FailedDiscoveryCheck", problem)


async def _first_success(service: ApiService, places: Sequence[Address], transport: Transport) -> str | None:
    """None as soon as one of the servers answers well; else why the last one did not."""
    probes = [asyncio.ensure_future(_probe(service, place, transport)) for place in places]
    problem: str | None = ""
    try:
        for done in asyncio.as_completed(probes):
            problem = await done
            if problem is None:
                return None
    finally:
        for probe in probes:
            probe.cancel()
        await asyncio.gather(*probes, return_exceptions=True)
    return problem


async def _probe(service: ApiService, place: Address, transport: Transport) -> str | None:
    url = f"https://{place.netloc}{service.path}"
    headers = [(b"host", place.netloc.encode()), (b"accept", b"application/json"), *identity(AGGREGATOR)]
    failing = f"failing or missing response from {url}: "
    try:
        async with asyncio.timeout(PROBE_S):
            response = await transport.probe(service, place, Message("GET", service.path.encode(), headers))
            response.close()
    except TimeoutError:
        late = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
        return f'{failing}Get "{url}": {late}'
    except Unreachable as error:
        return f'{failing}Get "{url}": {error}'
    if not 200 <= response.status < 300:
        return f"{failing}bad status from {url}: {response.status}"
    return None


def told(obj: Mapping[str, Any], wanted: Availability, *, now: str) -> JsonObject | None:
    """The status with this condition; None when it says so already. Pure."""
    conditions = [dict(one) for one in (obj.get("status") or {}).get("conditions") or ()]
    known = next((one for one in conditions if one.get("type") == AVAILABLE), None)
    if known is None:
        known = {"type": AVAILABLE}
        conditions.append(known)
    elif (known.get("status"), known.get("reason"), known.get("message")) == (
        wanted.status,
        wanted.reason,
        wanted.message,
    ):
        return None
    if known.get("status") != wanted.status:
        known |= {"status": wanted.status, "lastTransitionTime": now}
    known |= {"reason": wanted.reason, "message": wanted.message}
    return {**(obj.get("status") or {}), "conditions": conditions}
