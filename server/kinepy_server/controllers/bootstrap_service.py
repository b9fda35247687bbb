"""The Service `default/kubernetes`, by which programs in a cluster find the server. Pure."""

from collections.abc import Iterator
from ipaddress import ip_address

from kinepy_server.resources.resource import JsonObject
from kinepy_server.server_settings import ServerSettings

CLUSTER_IP = "10.96.0.1"
PORT, TARGET_PORT = 443, 6443
_NAME, _NAMESPACE = "kubernetes", "default"

Address = tuple[str, int]


def service_objects(settings: ServerSettings) -> Iterator[tuple[tuple[str, str, str], JsonObject]]:
    """The Service and, when others can reach the server at an address that is known, where it leads to."""
    port = _port(settings)
    yield ("", "v1", "services"), _service(port)
    address = _address(settings)
    if address is not None:
        yield ("", "v1", "endpoints"), _endpoints(*address)
        yield ("discovery.k8s.io", "v1", "endpointslices"), _endpoint_slice(*address)


def _address(settings: ServerSettings) -> Address | None:
    """The first address that may stand in an endpoint: a loopback or wildcard address leads nowhere."""
    for text in (settings.advertised_address, settings.served_address):
        host, _, port = text.rpartition(":")
        try:
            ip = ip_address(host.strip("[]"))
        except ValueError:
            continue
        if not (ip.is_loopback or ip.is_unspecified):
            return str(ip), int(port)
    return None


def _port(settings: ServerSettings) -> int:
    port = settings.served_address.rpartition(":")[2]
    return int(port) if port else TARGET_PORT


def _service(port: int) -> JsonObject:
    return {
        "metadata": {
            "name": _NAME,
            "namespace": _NAMESPACE,
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "type": "ClusterIP",
            "clusterIP": CLUSTER_IP,
            "clusterIPs": [CLUSTER_IP],
            "internalTrafficPolicy": "Cluster",
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "ports": [{"name": "https", "protocol": "TCP", "port": PORT, "targetPort": port}],
            "sessionAffinity": "None",
        },
        "status": {"loadBalancer": {}},
    }


def _endpoints(ip: str, port: int) -> JsonObject:
    return {
        "metadata": {
            "name": _NAME,
            "namespace": _NAMESPACE,
            "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"},
        },
        "subsets": [
            {"addresses": [{"ip": ip}], "ports": [{"name": "https", "port": port, "protocol": "TCP"}]}
        ],
    }


def _endpoint_slice(ip: str, port: int) -> JsonObject:
    return {
        "metadata": {
            "name": _NAME,
            "namespace": _NAMESPACE,
            "labels": {"kubernetes.io/service-name": _NAME},
        },
        "addressType": "IPv6" if ":" in ip else "IPv4",
        "endpoints": [{"addresses": [ip], "conditions": {"ready": True}}],
        "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
    }
