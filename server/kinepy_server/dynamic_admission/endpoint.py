"""Where a webhook is."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

_PORT = 443


class Reachable(Protocol):
    """What is needed to call a webhook."""

    url: str
    ca: str
    timeout_s: int


@dataclass(slots=True)
class Endpoint:
    """An address, the certificates to trust (the system's when empty), and how long to wait."""

    url: str
    ca: str
    timeout_s: int


def endpoint_of(client: Mapping[str, Any], *, timeout_s: int) -> Endpoint:
    """The endpoint that a clientConfig names."""
    url = client.get("url") or _service_url(client.get("service") or {})
    return Endpoint(url, _decoded(client.get("caBundle") or ""), timeout_s)


def _service_url(service: Mapping[str, Any]) -> str:
    """The address of a Service by its name, which must be resolvable where the server runs."""
    host = f"{service.get('name', '')}.{service.get('namespace', '')}.svc"
    path = service.get("path") or "/"
    return f"https://{host}:{service.get('port') or _PORT}{path if path.startswith('/') else f'/{path}'}"


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
