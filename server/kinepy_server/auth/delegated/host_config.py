"""How the host is reached: what a kubeconfig says, or what every Pod is given."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

POD_FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_NOT_FOLLOWED = ("exec", "auth-provider", "as", "as-uid", "as-groups", "as-user-extra")


class BadHostConfig(Exception):
    """The host cannot be found by what is given; the text is one line and says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostConfig:
    """An address and credentials. Texts are PEM; those that are not needed are empty."""

    url: str
    """Without a slash at the end."""
    ca: str = ""
    """The system's when it is empty."""
    unverified: bool = False
    server_name: str = ""
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    """Read again and again: a Pod's token is renewed in its file."""
    password: tuple[str, str] | None = field(default=None, repr=False)
    certificate: str = ""
    key: str = field(default="", repr=False)


def pod_config(environment: Mapping[str, str], folder: Path = POD_FOLDER) -> HostConfig:
    """The API server of the cluster that this process is a Pod of. Raises `BadHostConfig`."""
    host, port = (environment.get(f"KUBERNETES_SERVICE_{part}", "") for part in ("HOST", "PORT"))
    if not host or not port:
        raise BadHostConfig(
            "--aggregated needs to know the host's API server, and this is no Pod of it: give --host-kubeconfig FILE"
        )
    shown = f"[{host}]" if ":" in host else host
    return HostConfig(
        url=f"https://{shown}:{port}", ca=_text(folder / "ca.crt"), token_file=_readable(folder / "token")
    )


def kubeconfig_host(path: Path) -> HostConfig:
    """What the current context of a kubeconfig says. Raises `BadHostConfig`."""
    try:
        config = yaml.safe_load(_text(path))
        context = _named(config, "context", config["current-context"])
        cluster = _named(config, "cluster", context["cluster"])
        user = _named(config, "user", context["user"]) if context.get("user") else {}
        url = str(cluster["server"]).rstrip("/")
    except (yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        raise BadHostConfig(f"{path} is no kubeconfig with a current context ({error!r})") from error
    if "@" in url.partition("://")[2].partition("/")[0]:
        # It would be shown wherever the address is.
        raise BadHostConfig(f"{path}: take the user out of the address, and name it by username and password")
    for member in _NOT_FOLLOWED:
        if user.get(member):
            raise BadHostConfig(
                f"{path}: {member} is not followed here: give the host's user a token or a certificate"
            )
    if cluster.get("proxy-url"):
        raise BadHostConfig(f"{path}: proxy-url is not followed here: give an address that can be reached")
    return _host_config(_Members(path, cluster), _Members(path, user), url=url)


def _host_config(cluster: "_Members", user: "_Members", *, url: str) -> HostConfig:
    name, token_file = user.get("username"), user.get("tokenFile")
    return HostConfig(
        url=url,
        ca=cluster.pem("certificate-authority"),
        unverified=bool(cluster.get("insecure-skip-tls-verify")),
        server_name=cluster.get("tls-server-name"),
        token="" if token_file else user.get("token"),
        token_file=_readable(user.path(token_file)) if token_file else None,
        password=(name, user.get("password")) if name else None,
        certificate=user.pem("client-certificate"),
        key=user.pem("client-key"),
    )


@dataclass(frozen=True, slots=True)
class _Members:
    """Members of one part of a kubeconfig; paths are relative to its folder."""

    file: Path
    values: Mapping[str, Any]

    def get(self, name: str) -> str:
        return str(self.values.get(name) or "")

    def path(self, text: str) -> Path:
        return self.file.parent / text

    def pem(self, name: str) -> str:
        """Data that stands inline, else that of the file."""
        inline = self.get(f"{name}-data")
        if inline:
            try:
                return base64.b64decode(inline).decode()
            except ValueError as error:
                raise BadHostConfig(f"{self.file}: {name}-data is no base64 of PEM") from error
        file = self.get(name)
        return _text(self.path(file)) if file else ""


def _named(config: Mapping[str, Any], kind: str, name: str) -> Mapping[str, Any]:
    for entry in config[f"{kind}s"]:
        if entry["name"] == name:
            found: Mapping[str, Any] = entry[kind] or {}
            return found
    raise KeyError(f"{kind} {name}")


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise BadHostConfig(f"cannot read {path}: {error.strerror}") from error


def _readable(path: Path) -> Path:
    _text(path)
    return path
