"""`kinepy kubeconfig`: the file that the server wrote, or one like it for another user."""

from collections.abc import Sequence
from pathlib import Path

import yaml

from kinepy.clock import SystemClock
from kinepy_server.auth.client_certificates import issue_client_certificate
from kinepy_server.auth.kubeconfig import NO_CERTIFICATES, kubeconfig
from kinepy_server.auth.pki import utc_now
from kinepy_server.cli.problems import Problem


def kubeconfig_for(data: Path, user: str | None, groups: Sequence[str]) -> str:
    """The admin's kubeconfig, or that of a user who is named. Raises `Problem`."""
    if user:
        return users_kubeconfig(data, user, groups)
    if user is not None or groups:
        # Most likely a variable that is not set: whoever is to get the file must not get the admin's.
        raise Problem("no user is named: give --user NAME, or leave out --user and --group for the admin's")
    return admins_kubeconfig(data)


def admins_kubeconfig(data: Path) -> str:
    """The kubeconfig that `kinepy serve` wrote."""
    path = data / "kubeconfig"
    try:
        return path.read_text()
    except OSError as error:
        raise Problem(
            f"cannot read {path} ({error.strerror}): start `kinepy serve` with the same --data first"
        ) from error


def users_kubeconfig(data: Path, user: str, groups: Sequence[str]) -> str:
    """A kubeconfig with a new client certificate, for the same server."""
    cluster = yaml.safe_load(admins_kubeconfig(data))["clusters"][0]["cluster"]
    url, told = cluster["server"], cluster.get("extensions", ())
    for why in (one["extension"] for one in told if one["name"] == NO_CERTIFICATES):
        raise Problem(
            f"the server that was started last on this folder takes no certificates of its own CA: {why}"
        )
    ca = data / "pki" / "ca.crt"
    issued = issue_client_certificate(data / "pki", user, groups, now=utc_now(SystemClock().now_us()))
    return kubeconfig(url, ca_pem=ca.read_text(), user=user, certificate=(issued.certificate, issued.key))
