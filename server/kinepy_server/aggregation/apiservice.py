"""An APIService as it is stored, read once: who serves a group version. Pure."""

import base64
import binascii
from dataclasses import dataclass
from typing import Any

import orjson

from kinepy import KeyValue

GROUP, VERSION, PLURAL = "apiregistration.k8s.io", "v1", "apiservices"
PREFIX = b"/registry/apiregistration.k8s.io/apiservices/"
AVAILABLE = "Available"
AUTOMANAGED = "kube-aggregator.kubernetes.io/automanaged"
ON_START, CONTINUOUSLY = "onstart", "true"
"""The values of the label: what the server corrects once when it starts, and what it corrects always."""
PORT = 443


@dataclass(frozen=True, slots=True)
class ServiceReference:
    """The Service in front of the servers of a group version."""

    namespace: str
    name: str
    port: int = PORT

    @property
    def server_name(self) -> str:
        """The name that the certificate of the server must hold, wherever the Service leads to."""
        return f"{self.name}.{self.namespace}.svc"


@dataclass(frozen=True, slots=True)
class ApiService:
    """One APIService at one revision. `service` is None where this server serves the group version itself."""

    name: str
    group: str
    version: str
    service: ServiceReference | None = None
    ca: str = ""
    """Certificates (PEM) that the server is trusted by; the system's when it is empty."""
    insecure: bool = False
    """Whether the server's certificate is not looked at."""
    group_priority: int = 0
    version_priority: int = 0
    available: bool = False
    managed: str = ""
    """Whether and when the server itself corrects the object: the value of its label."""
    revision: int = 0

    @property
    def group_version(self) -> tuple[str, str]:
        """What it is about."""
        return self.group, self.version

    @property
    def path(self) -> str:
        """Where the group version is found."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"


def name_of(group: str, version: str) -> str:
    """The name that the APIService of a group version must have."""
    return f"{version}.{group}"


def key_of(name: str) -> bytes:
    """The store's key of an APIService."""
    return PREFIX + name.encode()


def read(kv: KeyValue) -> ApiService:
    """The APIService in a stored value."""
    obj: dict[str, Any] = orjson.loads(kv.value)
    metadata, spec = obj["metadata"], obj.get("spec") or {}
    reference = spec.get("service")
    service = None
    if reference:
        service = ServiceReference(
            reference.get("namespace", ""), reference.get("name", ""), reference.get("port") or PORT
        )
    return ApiService(
        name=metadata["name"],
        group=spec.get("group", ""),
        version=spec.get("version", ""),
        service=service,
        ca=certificates(spec.get("caBundle") or ""),
        insecure=bool(spec.get("insecureSkipTLSVerify")),
        group_priority=spec.get("groupPriorityMinimum", 0),
        version_priority=spec.get("versionPriority", 0),
        available=is_available(obj),
        managed=(metadata.get("labels") or {}).get(AUTOMANAGED, ""),
        revision=int(kv.mod_revision),
    )


def is_available(obj: dict[str, Any]) -> bool:
    """Whether the condition `Available` holds."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == AVAILABLE and one.get("status") == "True" for one in conditions)


def certificates(bundle: str) -> str:
    """The PEM of a bundle in base64. One that holds something else is not empty: empty stands for the system's."""
    try:
        return base64.b64decode(bundle).decode("utf-8", "replace")
    except binascii.Error:
        return bundle
