"""Addresses and ports of Services: no two live Services of any process have the same one."""

from collections.abc import Iterator
from hashlib import sha256
from ipaddress import IPv4Network, ip_address

import orjson

from kinepy_server.context import Context
from kinepy_server.errors import StatusError, raw_error
from kinepy_server.objects.codec import encode
from kinepy_server.resources.checks.causes import Path, invalid, path_of
from kinepy_server.resources.resource import FieldError, JsonObject, Resource
from kinepy_server.resources.strategies.hooks.services import HEADLESS, NODE_PORT_TYPES
from kinepy_server.writes.claims import Claims, used_by
from kinepy_server.writes.outcome import Finish
from kinepy_server.writes.prepare import invalid_object

SERVICES = "/registry/services/specs"
NETWORK = IPv4Network("10.96.0.0/16")
RESERVED = 2
"""The network's own address, and that of the Service `default/kubernetes`."""
FIRST_PORT, PORT_COUNT = 30000, 2768
TRIES = 512


def finisher(context: Context, resource: Resource, *, pretend: bool) -> Finish | None:
    """What completes a resource's objects, None for all but Services. It may only pretend to claim."""
    if resource.key_prefix != SERVICES:
        return None

    async def finish(value: bytes) -> bytes:
        allocation = _Allocation(context, resource, orjson.loads(value), pretend=pretend)
        return encode(resource, await allocation.complete())

    return finish


async def release(context: Context, resource: Resource, value: bytes) -> None:
    """Give back what a deleted object had. What is forgotten here is found to be free by who wants it next."""
    if resource.key_prefix == SERVICES:
        service = orjson.loads(value)
        await Claims(context, resource, service).give_back(used_by(service))


class _Allocation:
    """The address and ports of one Service."""

    def __init__(self, context: Context, resource: Resource, service: JsonObject, *, pretend: bool) -> None:
        self._resource, self._service, self._pretend = resource, service, pretend
        self._claims = Claims(context, resource, service)

    async def complete(self) -> JsonObject:
        """The Service with address and ports. Raises 422 for those that cannot be had."""
        spec = self._service["spec"]
        if spec.get("type") != "ExternalName" and spec.get("clusterIP") != HEADLESS:
            await self._address(spec)
        if spec.get("type") in NODE_PORT_TYPES and spec.get("allocateLoadBalancerNodePorts") is not False:
            for index, port in enumerate(spec.get("ports") or ()):
                await self._port(port, ((path_of("spec.ports"), index), "nodePort"))
        return self._service

    async def _address(self, spec: JsonObject) -> None:
        wanted = spec.get("clusterIP")
        if wanted:
            problem = await self._address_problem(wanted)
            if problem:
                text = f"failed to allocate IP {wanted}: {problem}"
                raise self._refused(invalid(path_of("spec.clusterIPs"), [wanted], text))
            return
        for offset in self._places("address", NETWORK.num_addresses - RESERVED - 1):
            address = str(NETWORK[RESERVED + offset])
            if await self._claims.address(address, pretend=self._pretend):
                spec["clusterIP"], spec["clusterIPs"] = address, [address]
                return
        raise raw_error("failed to allocate a serviceIP: range is full")

    async def _address_problem(self, text: str) -> str:
        if ip_address(text) not in NETWORK:
            return f"the provided network does not match the current range: {NETWORK}"
        free = await self._claims.address(text, pretend=self._pretend)
        return "" if free else "provided IP is already allocated"

    async def _port(self, port: JsonObject, path: Path) -> None:
        wanted = port.get("nodePort")
        if wanted:
            problem = await self._port_problem(wanted)
            if problem:
                raise self._refused(invalid(path, wanted, problem))
            return
        for offset in self._places(f"{port.get('protocol')}/{port.get('port')}", PORT_COUNT):
            if await self._claims.port(FIRST_PORT + offset, pretend=self._pretend):
                port["nodePort"] = FIRST_PORT + offset
                return
        raise raw_error("failed to allocate a nodePort: range is full")

    async def _port_problem(self, number: int) -> str:
        last = FIRST_PORT + PORT_COUNT - 1
        if not FIRST_PORT <= number <= last:
            return f"provided port is not in the valid range. The range of valid ports is {FIRST_PORT}-{last}"
        free = await self._claims.port(number, pretend=self._pretend)
        return "" if free else "provided port is already allocated"

    def _places(self, what: str, count: int) -> Iterator[int]:
        """Places to try, different for each Service, the same each time for one."""
        uid = self._service["metadata"].get("uid", "")
        for attempt in range(min(TRIES, count)):
            digest = sha256(f"{uid}/{what}/{attempt}".encode()).digest()
            yield int.from_bytes(digest[:8], "big") % count

    def _refused(self, error: FieldError) -> StatusError:
        return invalid_object(self._resource, self._service, [error])
