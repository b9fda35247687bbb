"""One webhook of a configuration."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from kinepy_server.dynamic_admission.conditions import Conditions
from kinepy_server.dynamic_admission.matching import Matcher
from kinepy_server.dynamic_admission.variables import compiled_condition

TIMEOUT_S = 10
_PORT = 443


class Webhook:
    """Where a webhook is, what it is asked about, and what its silence means."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.name: str = spec.get("name", "")
        self.matcher = Matcher(spec.get("rules") or (), spec)
        self.conditions = Conditions(spec.get("matchConditions") or (), compiled_condition)
        self.ignores_failure = spec.get("failurePolicy", "Fail") == "Ignore"
        self.timeout_s: int = spec.get("timeoutSeconds") or TIMEOUT_S
        self.takes_dry_run = spec.get("sideEffects") in ("None", "NoneOnDryRun")
        self.again = spec.get("reinvocationPolicy") == "IfNeeded"
        client = spec.get("clientConfig") or {}
        self.url = client.get("url") or _service_url(client.get("service") or {})
        self.ca = _decoded(client.get("caBundle", ""))


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
