"""The file that kubectl and every client library read."""

import base64
import ipaddress
import json

NAME = "kinepy"
USER = "admin"


def kubeconfig(url: str, *, ca_pem: str | None = None, token: str | None = None) -> str:
    """A kubeconfig for a server, with the CA certificate and the token inline."""
    lines = ["apiVersion: v1", "kind: Config", "clusters:", f"- name: {NAME}", "  cluster:"]
    lines.append(f"    server: {json.dumps(url)}")
    if ca_pem is not None:
        lines.append(f"    certificate-authority-data: {base64.b64encode(ca_pem.encode()).decode()}")
    lines += ["users:", f"- name: {USER}"]
    lines += ["  user: {}"] if token is None else ["  user:", f"    token: {json.dumps(token)}"]
    lines += ["contexts:", f"- name: {NAME}", "  context:"]
    lines += [f"    cluster: {NAME}", f"    user: {USER}", "    namespace: default"]
    lines.append(f"current-context: {NAME}")
    return "\n".join(lines) + "\n"


def client_host(host: str) -> str:
    """Where a client on this machine finds a server that listens on `host`: loopback for a wildcard address."""
    wildcards = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}
    return wildcards.get(host, host)


def url_of(scheme: str, host: str, port: int) -> str:
    """A URL without a slash at the end; IPv6 addresses in brackets."""
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}:{port}"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
