"""The cells of services, endpoints and what leads to them."""

from collections.abc import Sequence
from typing import Any

from kinepy_server.resources.cells.common import (
    NONE,
    UNSET,
    age,
    at,
    joined_some,
    labels,
    name,
    row,
    selector_text,
)
from kinepy_server.resources.resource import JsonObject


def service(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, Type, Cluster-IP, External-IP, Port(s), Age, Selector."""
    spec = obj.get("spec") or {}
    addresses = spec.get("clusterIPs") or ()
    return (
        name(obj, now),
        spec.get("type", ""),
        (addresses[0] if addresses else spec.get("clusterIP")) or NONE,
        _external(obj, spec),
        _ports(spec.get("ports") or ()),
        age(obj, now),
        labels("spec.selector")(obj, now),
    )


def _external(obj: JsonObject, spec: JsonObject) -> str:
    own = spec.get("externalIPs") or []
    match spec.get("type"):
        case "ExternalName":
            return str(spec.get("externalName", ""))
        case "LoadBalancer":
            found = _ingress(obj)
            return ",".join([*found, *own]) if found or own else "<pending>"
        case _:
            return ",".join(own) or NONE


def _ingress(obj: JsonObject) -> list[str]:
    points = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    return [point.get("ip") or point.get("hostname", "") for point in points]


def _ports(ports: Sequence[JsonObject]) -> str:
    texts = []
    for port in ports:
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        texts.append(f"{port.get('port', 0)}{node}/{port.get('protocol', '')}")
    return ",".join(texts) or NONE


def endpoints(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, Endpoints, Age."""
    found: list[str] = []
    for subset in obj.get("subsets") or ():
        addresses = [one.get("ip", "") for one in subset.get("addresses") or ()]
        ports = subset.get("ports") or ()
        if not ports:
            found += addresses
        for port in ports:
            found += [_address(ip, port.get("port", 0)) for ip in addresses]
    return name(obj, now), joined_some(found) or NONE, age(obj, now)


def _address(ip: str, port: int) -> str:
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


def endpoint_slice(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, AddressType, Ports, Endpoints, Age."""
    ports = [str(one["port"]) if one.get("port") is not None else "*" for one in obj.get("ports") or ()]
    addresses = [address for one in obj.get("endpoints") or () for address in one.get("addresses") or ()]
    return (
        name(obj, now),
        obj.get("addressType", ""),
        joined_some(ports) or UNSET,
        joined_some(addresses) or UNSET,
        age(obj, now),
    )


def ingress(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, Class, Hosts, Address, Ports, Age."""
    spec = obj.get("spec") or {}
    hosts = [rule["host"] for rule in spec.get("rules") or () if rule.get("host")]
    return (
        name(obj, now),
        spec.get("ingressClassName") or NONE,
        joined_some(hosts) or "*",
        ",".join(_ingress(obj)),
        "80, 443" if spec.get("tls") else "80",
        age(obj, now),
    )


def ingress_class(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, Controller, Parameters, Age."""
    spec = obj.get("spec") or {}
    found = spec.get("parameters")
    shown = NONE
    if found:
        group = f".{found['apiGroup']}" if found.get("apiGroup") else ""
        shown = f"{found.get('kind', '')}{group}/{found.get('name', '')}"
    return name(obj, now), spec.get("controller", ""), shown, age(obj, now)


def ip_address(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, ParentRef."""
    parent = (obj.get("spec") or {}).get("parentRef") or {}
    owner = "/".join(
        part for part in (parent.get("resource"), parent.get("namespace"), parent.get("name")) if part
    )
    group = f".{parent['group']}" if parent.get("group") else ""
    resource, slash, rest = owner.partition("/")
    return name(obj, now), f"{resource}{group}{slash}{rest}"


def network_policy(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, Pod-Selector, Age."""
    chosen = (obj.get("spec") or {}).get("podSelector")
    return name(obj, now), selector_text(chosen), age(obj, now)


def service_cidr(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, CIDRs, Age."""
    return name(obj, now), ",".join((obj.get("spec") or {}).get("cidrs") or ()), age(obj, now)


runtime_class = row(name, at("handler"), age)
