"""Checks of services, endpoints, ingresses and network policies."""

from ipaddress import ip_address, ip_network
from typing import Any

from kinepy_server.resources.checks.causes import Path, duplicate, forbidden, invalid, required, unsupported
from kinepy_server.resources.checks.entries import (
    DNS_LABEL,
    DNS_SUBDOMAIN,
    PORT,
    REQUIRED,
    Check,
    Table,
    between,
    each,
    labels,
    most_items,
    named,
    one_of,
    unique,
)
from kinepy_server.resources.checks.pods import PROTOCOLS, port_or_name
from kinepy_server.resources.resource import FieldError

NOT_AN_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
NOT_A_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
ALLOCATED = ("ClusterIP", "NodePort", "LoadBalancer")
SERVICE_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")


def _ip_problems(text: str) -> list[str]:
    try:
        ip_address(text)
    except ValueError:
        return [NOT_AN_IP]
    return []


def _cidr_problems(text: str) -> list[str]:
    try:
        ip_network(text, strict=False)
    except ValueError:
        return [NOT_A_CIDR]
    return [] if "/" in text else [NOT_A_CIDR]


IP, CIDR = named(_ip_problems), named(_cidr_problems)


def _needs_ports(spec: Any, path: Path, errors: list[FieldError]) -> None:
    headless = spec.get("clusterIP") == "None"
    if not spec.get("ports") and not headless and spec.get("type") != "ExternalName":
        errors.append(required((path, "ports")))


def _address(spec: Any, path: Path, errors: list[FieldError]) -> None:
    kind, address = spec.get("type"), spec.get("clusterIP")
    where: Path = (path, "clusterIP")
    if kind == "ExternalName":
        if address:
            errors.append(
                invalid((path, "clusterIPs"), [address], "may not be set for ExternalName services")
            )
        name = spec.get("externalName")
        if not name:
            errors.append(required((path, "externalName")))
        else:
            DNS_SUBDOMAIN(name.removesuffix("."), (path, "externalName"), errors)
    elif address == "None" and kind in ("NodePort", "LoadBalancer"):
        errors.append(invalid(where, address, "may not be set to 'None' for LoadBalancer services"))
    elif address and address != "None":
        IP(address, where, errors)


def _names(spec: Any, path: Path, errors: list[FieldError]) -> None:
    """Several ports need names, all of them different."""
    ports = spec.get("ports") or ()
    names: set[str] = set()
    taken: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        where: Path = ((path, "ports"), index)
        _service_port(port, where, errors, several=len(ports) > 1, names=names)
        key = (port.get("protocol"), port.get("port"))
        if key in taken:
            shown = {"protocol": port.get("protocol", ""), "port": port.get("port", 0)}
            errors.append(duplicate(where, shown))
        taken.add(key)


def _service_port(port: Any, path: Path, errors: list[FieldError], *, several: bool, names: set[str]) -> None:
    name = port.get("name")
    if name:
        DNS_LABEL(name, (path, "name"), errors)
        if name in names:
            errors.append(duplicate((path, "name"), name))
        names.add(name)
    elif several:
        errors.append(required((path, "name")))
    PORT(port.get("port", 0), (path, "port"), errors)
    if not port.get("protocol"):
        errors.append(required((path, "protocol")))
    elif port["protocol"] not in PROTOCOLS:
        errors.append(unsupported((path, "protocol"), port["protocol"], PROTOCOLS))
    port_or_name(port.get("targetPort", 0), (path, "targetPort"), errors)


def _backend(value: Any, path: Path, errors: list[FieldError]) -> None:
    service, resource = value.get("service"), value.get("resource")
    if service is None and resource is None:
        errors.append(required(path, "must specify either a service or resource backend"))
    elif service is not None and resource is not None:
        errors.append(invalid(path, "", "cannot set both resource and service backends"))


def _service_backend(value: Any, path: Path, errors: list[FieldError]) -> None:
    port = value.get("port") or {}
    where = (path, "port")
    if not value.get("name"):
        errors.append(required((path, "name")))
    if port.get("name") and port.get("number"):
        errors.append(invalid(where, "", "cannot set both port name & port number"))
    elif port.get("number"):
        PORT(port["number"], (where, "number"), errors)
    elif not port.get("name"):
        errors.append(required(path, "port name or number is required"))


def _ingress(spec: Any, path: Path, errors: list[FieldError]) -> None:
    if not spec.get("rules") and spec.get("defaultBackend") is None:
        errors.append(invalid(path, [], "either `defaultBackend` or `rules` must be specified"))


def _rule_path(value: Any, path: Path, errors: list[FieldError]) -> None:
    kind, text = value.get("pathType"), value.get("path", "")
    if kind is None:
        errors.append(required((path, "pathType"), "pathType must be specified"))
    elif kind not in ("Exact", "Prefix", "ImplementationSpecific"):
        errors.append(unsupported((path, "pathType"), kind, ("Exact", "ImplementationSpecific", "Prefix")))
    elif kind != "ImplementationSpecific":
        if not text.startswith("/"):
            errors.append(invalid((path, "path"), text, "must be an absolute path"))
        bad = [f"must not contain '{part}'" for part in ("//", "/./", "/../", "%2f", "%2F") if part in text]
        bad += [f"cannot end with '{part}'" for part in ("/..", "/.") if text.endswith(part)]
        errors.extend(invalid((path, "path"), text, detail) for detail in bad)


def _host(value: Any, path: Path, errors: list[FieldError]) -> None:
    text = value.removeprefix("*.") if value.startswith("*.") else value
    DNS_SUBDOMAIN(text, path, errors)


def _peer(value: Any, path: Path, errors: list[FieldError]) -> None:
    found = [name for name in ("podSelector", "namespaceSelector", "ipBlock") if value.get(name) is not None]
    if not found:
        errors.append(required(path, "must specify a peer"))
    elif "ipBlock" in found and len(found) > 1:
        errors.append(forbidden(path, "may not specify both ipBlock and another peer"))


def _addresses(value: Any, path: Path, errors: list[FieldError]) -> None:
    """Addresses are of the type that the slice says."""
    rule: Check = DNS_SUBDOMAIN if value.get("addressType") == "FQDN" else IP
    for index, endpoint in enumerate(value.get("endpoints") or ()):
        where = (((path, "endpoints"), index), "addresses")
        addresses = endpoint.get("addresses")
        if not addresses:
            errors.append(required(where, "must contain at least 1 address"))
        else:
            each(rule)(addresses, where, errors)


_AFFINITY = "must be greater than 0 and less than or equal to 86400"
PROTOCOL = one_of(*PROTOCOLS)

TABLE: Table = {
    "v1.ServiceSpec": (
        ("", _needs_ports, _address, _names),
        ("selector", labels),
        ("sessionAffinity", REQUIRED, one_of("ClientIP", "None")),
        ("type", REQUIRED, one_of(*SERVICE_TYPES)),
        ("externalIPs", each(IP)),
        ("externalTrafficPolicy", one_of("Cluster", "Local")),
        ("internalTrafficPolicy", one_of("Cluster", "Local")),
    ),
    "v1.ClientIPConfig": (("timeoutSeconds", between(1, 86400, _AFFINITY)),),
    "v1.EndpointAddress": (("ip", REQUIRED, IP), ("hostname", DNS_LABEL)),
    "v1.EndpointPort": (("name", DNS_LABEL), ("port", PORT), ("protocol", REQUIRED, PROTOCOL)),
    "discovery.v1.EndpointSlice": (
        ("addressType", REQUIRED, one_of("FQDN", "IPv4", "IPv6")),
        ("endpoints", most_items(1000)),
        ("", _addresses),
        ("ports", most_items(20000), unique("name", at="name")),
    ),
    "discovery.v1.EndpointPort": (("name", DNS_LABEL), ("protocol", PROTOCOL), ("port", PORT)),
    "networking.v1.IngressSpec": (("", _ingress), ("defaultBackend",), ("ingressClassName", DNS_SUBDOMAIN)),
    "networking.v1.IngressBackend": (("", _backend),),
    "networking.v1.IngressServiceBackend": (("", _service_backend),),
    "networking.v1.IngressRule": (("host", _host),),
    "networking.v1.HTTPIngressRuleValue": (("paths", REQUIRED),),
    "networking.v1.HTTPIngressPath": (("", _rule_path),),
    "networking.v1.IngressClassSpec": (("controller", REQUIRED),),
    "networking.v1.IngressClassParametersReference": (
        ("kind", REQUIRED), ("name", REQUIRED), ("scope", one_of("Cluster", "Namespace")),
    ),
    "networking.v1.NetworkPolicySpec": (
        ("policyTypes", most_items(2), each(one_of("Egress", "Ingress"))),
    ),
    "networking.v1.NetworkPolicyPort": (("protocol", PROTOCOL), ("port", port_or_name)),
    "networking.v1.NetworkPolicyPeer": (("", _peer),),
    "networking.v1.IPBlock": (("cidr", REQUIRED, CIDR), ("except", each(CIDR))),
    "networking.v1.ParentReference": (("resource", REQUIRED), ("name", REQUIRED)),
    "networking.v1.ServiceCIDRSpec": (("cidrs", REQUIRED, most_items(2), each(CIDR)),),
}  # fmt: skip
