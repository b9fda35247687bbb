"""Where a webhook is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from kinepy_server.aggregation.apiservice import PORT, ServiceReference, certificates


class Reachable(Protocol):
    """What is needed to call a webhook."""

    url: str
    ca: str
    timeout_s: int
    service: ServiceReference | None


@dataclass(slots=True)
class Endpoint:
    """An address, the certificates to trust (the system's when empty), and how long to wait.

    `service` is the Service that is named instead of an address; `url` is then made of its name.
    """

    url: str
    ca: str
    timeout_s: int
    service: ServiceReference | None = None


def endpoint_of(client: Mapping[str, Any], *, timeout_s: int) -> Endpoint:
    """The endpoint that a clientConfig names."""
    url, ca = client.get("url"), certificates(client.get("caBundle") or "")
    if url:
        return Endpoint(url, ca, timeout_s)
    named = client.get("service") or {}
    service = ServiceReference(named.get("namespace", ""), named.get("name", ""), named.get("port") or PORT)
    path = named.get("path") or "/"
    url = f"https://{service.server_name}:{service.port}{path if path.startswith('/') else f'/{path}'}"
    return Endpoint(url, ca, timeout_s, service)
