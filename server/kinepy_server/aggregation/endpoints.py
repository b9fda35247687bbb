"""Where a Service leads to: addresses of servers, from the Service and its endpoints. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SERVICE_LABEL = "kubernetes.io/service-name"
_WITH_ENDPOINTS = ("ClusterIP", "LoadBalancer", "NodePort")

Json = Mapping[str, Any]


class Unresolved(Exception):
    """The Service leads nowhere; the text says why, in the original's words."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens."""

    host: str
    port: int

    @property
    def netloc(self) -> str:
        """host:port, an IPv6 address in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Slice:
    """Addresses that are ready, and ports by name: an EndpointSlice, or a subset of Endpoints."""

    hosts: Sequence[str]
    ports: Mapping[str, int]


def slices_of(objects: Iterable[Json]) -> Iterator[Slice]:
    """What EndpointSlices say."""
    for one in objects:
        hosts = [
            address
            for endpoint in one.get("endpoints") or ()
            if (endpoint.get("conditions") or {}).get("ready") is not False
            for address in endpoint.get("addresses") or ()
        ]
        yield Slice(hosts, _ports(one.get("ports") or ()))


def subsets_of(endpoints: Json) -> Iterator[Slice]:
    """What an Endpoints object says: in a whole cluster a controller makes slices of it."""
    for subset in endpoints.get("subsets") or ():
        hosts = [address["ip"] for address in subset.get("addresses") or ()]
        yield Slice(hosts, _ports(subset.get("ports") or ()))


def _ports(ports: Iterable[Json]) -> Mapping[str, int]:
    return {port.get("name") or "": port["port"] for port in ports if port.get("port")}


def port_name(service: Json, port: int) -> str | None:
    """The name of a Service's port, which may be empty; None when it has no such port."""
    for one in (service.get("spec") or {}).get("ports") or ():
        if one.get("port") == port:
            return one.get("name") or ""
    return None


def addresses(service: Json, port: int, slices: Iterable[Slice]) -> Sequence[Address]:
    """Where the port of a Service leads to; never empty. Raises Unresolved."""
    spec, name = service.get("spec") or {}, service["metadata"]["name"]
    kind = spec.get("type") or "ClusterIP"
    if kind == "ExternalName":
        return [Address(spec.get("externalName", ""), port)]
    if kind not in _WITH_ENDPOINTS:
        raise Unresolved(f'unsupported service type "{kind}"')
    named = port_name(service, port)
    if named is None:
        raise Unresolved(f'no service port {port} found for service "{name}"')
    found = [Address(host, one.ports[named]) for one in slices if named in one.ports for host in one.hosts]
    if not found:
        raise Unresolved(f'no endpoints available for service "{name}"')
    return found
