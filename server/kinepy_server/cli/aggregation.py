"""What `kinepy serve --aggregated` is told of the server it stands behind, and of the types that it serves."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinepy_server.cli.definitions import read_definitions
from kinepy_server.cli.problems import Problem

if TYPE_CHECKING:
    from kinepy_server.auth.delegated.host_config import HostConfig
    from kinepy_server.auth.delegated.trust import RequestHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregation:
    """A server behind another one, its host."""

    host: "HostConfig"
    definitions: Sequence[dict[str, Any]]
    request_header: "RequestHeader | None"
    """How the front proxy is known, where the host is not to say it."""


def make_aggregation(
    *,
    aggregated: bool = False,
    host_kubeconfig: Path | None = None,
    definitions: Sequence[Path] | None = None,
    insecure: bool = False,
    controllers: str = "all",
    authorization_mode: str = "RBAC",
    **request_header: Any,
) -> Aggregation | None:
    """Check the options; None for a server that stands alone. Raises `Problem`, `BadHostConfig`."""
    if not aggregated:
        given = {"host_kubeconfig": host_kubeconfig, "definitions": definitions, **request_header}
        for name, value in given.items():
            if value:
                raise Problem(
                    f"--{name.replace('_', '-')} belongs to --aggregated: add it, or leave this out"
                )
        return None
    if insecure:
        raise Problem("--aggregated knows the front proxy by its certificate: leave --insecure out")
    if controllers not in ("all", "none"):
        raise Problem("with --aggregated the host's controllers do the work: leave --controllers out")
    if authorization_mode != "RBAC":
        raise Problem("with --aggregated the host decides who may do what: leave --authorization-mode out")
    from kinepy_server.auth.delegated.host_config import kubeconfig_host, pod_config

    host = pod_config(os.environ) if host_kubeconfig is None else kubeconfig_host(host_kubeconfig)
    return Aggregation(
        host=host,
        definitions=read_definitions(definitions or ()),
        request_header=_request_header(**request_header),
    )


def _request_header(
    *,
    requestheader_client_ca_file: Path | None = None,
    requestheader_allowed_names: Sequence[str] | None = None,
    requestheader_username_headers: Sequence[str] | None = None,
    requestheader_uid_headers: Sequence[str] | None = None,
    requestheader_group_headers: Sequence[str] | None = None,
    requestheader_extra_headers_prefix: Sequence[str] | None = None,
) -> "RequestHeader | None":
    """What is given instead of what the host says: all of it, or nothing."""
    lists = {
        "allowed_names": ("allowed-names", requestheader_allowed_names),
        "username_headers": ("username-headers", requestheader_username_headers),
        "uid_headers": ("uid-headers", requestheader_uid_headers),
        "group_headers": ("group-headers", requestheader_group_headers),
        "extra_prefixes": ("extra-headers-prefix", requestheader_extra_headers_prefix),
    }
    given = {member: _items(name, values) for member, (name, values) in lists.items() if values}
    if requestheader_client_ca_file is None:
        if given:
            raise Problem(
                "what the host says of its front proxy is replaced as a whole: "
                "give --requestheader-client-ca-file too"
            )
        return None
    from kinepy_server.auth.delegated.trust import RequestHeader

    return RequestHeader(ca=authorities(requestheader_client_ca_file), **given)


def _items(name: str, values: Sequence[str]) -> Sequence[str]:
    items = [item.strip() for value in values for item in value.split(",")]
    if not all(items):
        raise Problem(f'empty value in "requestheader-{name}"')
    return tuple(items)


def authorities(path: Path) -> str:
    """The PEM of a file that must hold certificates. Raises `Problem`."""
    from kinepy_server.auth.chains import BadTrust, Bundle

    try:
        bundle = Bundle(path.read_text())
    except OSError as error:
        raise Problem(f"cannot read {path}: {error.strerror}") from error
    except (BadTrust, UnicodeDecodeError):
        bundle = None
    if not bundle:
        raise Problem(f"{path} holds no certificate: give a CA in PEM")
    return bundle.pem
