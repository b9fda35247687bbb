"""The file that kubectl and every client library read."""

import base64
import ipaddress
import json

NAME = "kinepy"
USER = "admin"
NO_CERTIFICATES = "kinepy-no-certificates"


def kubeconfig(
    url: str,
    *,
    ca_pem: str | None = None,
    token: str | None = None,
    user: str = USER,
    certificate: tuple[str, str] | None = None,
    no_certificates: str = "",
) -> str:
    """A kubeconfig for a server, with the CA certificate and the user's credentials inline.

    Those are a token, or a certificate with its key, or none. `no_certificates` is why the server takes none of its own
    CA, for `kinepy kubeconfig --user`; clients pass over it.
    """
    lines = ["apiVersion: v1", "kind: Config", "clusters:", f"- name: {NAME}", "  cluster:"]
    lines.append(f"    server: {json.dumps(url)}")
    if ca_pem is not None:
        lines.append(f"    certificate-authority-data: {_inline(ca_pem)}")
    if no_certificates:
        lines += ["    extensions:", f"    - name: {NO_CERTIFICATES}"]
        lines.append(f"      extension: {json.dumps(no_certificates)}")
    credentials = []
    if token is not None:
        credentials.append(f"    token: {json.dumps(token)}")
    if certificate is not None:
        credentials.append(f"    client-certificate-data: {_inline(certificate[0])}")
        credentials.append(f"    client-key-data: {_inline(certificate[1])}")
    shown = user if user == USER else json.dumps(user)
    lines += ["users:", f"- name: {shown}"]
    lines += ["  user:", *credentials] if credentials else ["  user: {}"]
    lines += ["contexts:", f"- name: {NAME}", "  context:"]
    lines += [f"    cluster: {NAME}", f"    user: {shown}", "    namespace: default"]
    lines.append(f"current-context: {NAME}")
    return "\n".join(lines) + "\n"


def _inline(pem: str) -> str:
    return base64.b64encode(pem.encode()).decode()


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
