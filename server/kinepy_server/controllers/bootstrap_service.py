"""The Service `default/kubernetes`, by which programs in a cluster find the server. Pure."""

from collections.abc import Iterator, Sequence
from ipaddress import ip_address

from kinepy_server.resources.resource import JsonObject

CLUSTER_IP = "10.96.0.1"
PORT, TARGET_PORT = 443, 6443
_NAME, _NAMESPACE = "kubernetes", "default"

Address = tuple[str, int]


def service_objects(addresses: Sequence[str]) -> Iterator[tuple[tuple[str, str, str], JsonObject]]:
    """The Service and, when others can reach the server at an address that is known, where it leads to.

    `addresses` are those of the server as host:port, the best one first, the one it listens at last.
    """
    port = addresses[-1].rpartition(":")[2] if addresses else ""
    yield ("", "v1", "services"), _service(int(port) if port else TARGET_PORT)
    address = _address(addresses)
    if address is not None:
        yield ("", "v1", "endpoints"), _endpoints(*address)
        yield ("discovery.k8s.io", "v1", "endpointslices"), _endpoint_slice(*address)


def _address(addresses: Sequence[str]) -> Address | None:
    """The first address that may stand in an endpoint: a loopback or wildcard address leads nowhere."""
    for text in addresses:
        host, _, port = text.rpartition(":")
        try:
            ip = ip_address(host.strip("[]"))
        except ValueError:
            continue
        if not (ip.is_loopback or ip.is_unspecified):
            return str(ip), int(port)
    return None


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
