"""Servers behind a host, and how tests talk to them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml

from tests.aggregated.authority import Shown
from tests.custom.definitions import GROUP, definition, spec_schema, version
from tests.processes import Client, ServerProcess, ok

RBAC = "/apis/rbac.authorization.k8s.io/v1"
WIDGETS = f"/apis/{GROUP}/v1/namespaces/default/widgets"
WIDGET = definition(
    version(schema=spec_schema(a={"type": "string"})), version("v2", schema=spec_schema(a={"type": "string"}))
)
NAMED = {"x-remote-user": "jane"}


def write_definitions(folder: Path, *definitions: Mapping[str, Any]) -> Path:
    """A file of definitions."""
    file = folder / "definitions.yaml"
    file.write_text(yaml.safe_dump_all(definitions or (WIDGET,)))
    return file


def behind_options(host: ServerProcess, definitions: Path) -> tuple[str, ...]:
    """What a server behind a host is told at least."""
    return ("--aggregated", "--host-kubeconfig", str(host.kubeconfig), "--definitions", str(definitions))


@contextmanager
def serve_behind(
    host: ServerProcess, folder: Path, *options: str, database: str | None = "sqlite:///:memory:"
) -> Iterator[ServerProcess]:
    """A server behind a host, over a folder of its own."""
    told = behind_options(host, write_definitions(folder))
    with ServerProcess(folder / "data", database=database, options=(*told, *options)) as server:
        yield server


@dataclass(frozen=True)
class Behind:
    """A server behind a host, with a front proxy's certificate for it."""

    server: ServerProcess
    proxy: Shown

    @contextmanager
    def client(self, shown: Shown | None, folder: Path, **headers: str) -> Iterator[Client]:
        """A client that shows a certificate, and these headers (with dashes for underscores)."""
        tls = self.server.tls if shown is None else shown.tls(self.server.data / "pki" / "ca.crt", folder)
        named = [(name.replace("_", "-"), value) for name, value in headers.items()]
        with httpx.Client(
            base_url=self.server.url, headers=named, verify=tls, timeout=20, trust_env=False
        ) as http:
            yield Client(http)

    def proxied(self, folder: Path, **headers: str) -> Any:
        """A client that the front proxy speaks for."""
        return self.client(self.proxy, folder, **(headers or {"x_remote_user": "jane"}))


def grant(host: ServerProcess, user: str, *verbs: str, kind: str = "User", namespace: str = "default") -> str:
    """Let a user, or the group of that name, do something with widgets; the address of what lets it."""
    name = f"{user}-{kind}".lower()
    rules = [{"apiGroups": [GROUP], "resources": ["widgets", "widgets/status"], "verbs": verbs}]
    subject = {"kind": kind, "apiGroup": "rbac.authorization.k8s.io", "name": user}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    inside = f"{RBAC}/namespaces/{namespace}"
    with host.client() as admin:
        ok(admin.send("POST", f"{inside}/roles", {"metadata": {"name": name}, "rules": rules}), 201)
        binding = {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]}
        ok(admin.send("POST", f"{inside}/rolebindings", binding), 201)
    return f"{inside}/rolebindings/{name}"


def refused_text(reply: httpx.Response) -> str:
    """The message of a 403."""
    assert reply.status_code == 403, (reply.status_code, reply.text)
    text: str = reply.json()["message"]
    return text


def names(items: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names of objects."""
    return [item["metadata"]["name"] for item in items]
