"""Who may connect, and the files that tell clients how: certificates, tokens, kubeconfig."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kinepy.clock import Clock
from kinepy_server.auth.authenticate import ADMIN
from kinepy_server.auth.files import write_private
from kinepy_server.auth.kubeconfig import client_host, kubeconfig, url_of
from kinepy_server.auth.setup import INSECURE, Security
from kinepy_server.auth.tls import Tls
from kinepy_server.auth.tokens import admin_token, token_file
from kinepy_server.cli.plan import Plan
from kinepy_server.cli.problems import Problem

if TYPE_CHECKING:
    from kinepy_server.auth.delegated.setup import Delegation
    from kinepy_server.auth.front_proxy import FrontProxy

CA_FILE = "ca.crt"


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of a server. `tls` is None for plain HTTP; `root_ca` is what is published to trust it by."""

    url: str
    security: Security
    tls: Tls | None
    root_ca: str = ""


def prepare(plan: Plan, *, clock: Clock) -> Identity:
    """Make or find certificates and tokens, and write the files for clients. The data folder is there."""
    try:
        return _insecure(plan, clock=clock) if plan.insecure else _secure(plan, clock=clock)
    except OSError as error:
        raise Problem(
            f"cannot read or write {error.filename} ({error.strerror}): correct its path or its rights"
        ) from error


def served_url(plan: Plan) -> str:
    """The URL at which clients find the server."""
    scheme = "http" if plan.insecure else "https"
    return plan.advertise_url or url_of(scheme, client_host(plan.host), plan.port)


def _insecure(plan: Plan, *, clock: Clock) -> Identity:
    url = served_url(plan)
    admin_token(plan.data / "admin.token")
    write_private(plan.data / "kubeconfig", kubeconfig(url, no_certificates=_no_certificates(plan)))
    ca = plan.data / "pki" / CA_FILE
    security = replace(INSECURE, find_front_proxy=_front_proxy(plan, clock))
    return Identity(url, security, None, ca.read_text() if ca.exists() else "")


def _secure(plan: Plan, *, clock: Clock) -> Identity:
    from kinepy_server.auth.signing import ensure_signing_key

    url = served_url(plan)
    tls, ca_pem = _tls(plan, clock=clock)
    key = ensure_signing_key(plan.data / "pki")
    token = admin_token(plan.data / "admin.token")
    users = dict(token_file(plan.token_file)) if plan.token_file else {}
    users[token] = ADMIN
    why = _no_certificates(plan)
    write_private(plan.data / "kubeconfig", kubeconfig(url, ca_pem=ca_pem, token=token, no_certificates=why))
    find_front_proxy = _front_proxy(plan, clock)
    # Replicas that start at once make it together, and what is wrong with its files is told now.
    find_front_proxy()
    security = Security(
        users=users,
        find_key=lambda: key,
        mode=plan.authorization_mode,
        find_front_proxy=find_front_proxy,
        delegation=_delegation(plan),
    )
    return Identity(url, security, tls, ca_pem)


def _no_certificates(plan: Plan) -> str:
    """Why the own CA vouches for no clients; empty where it does."""
    if plan.insecure:
        return "it was with --insecure, everybody is admin"
    if plan.aggregation is not None:
        return "it was with --aggregated, its users are those of its host"
    if plan.client_ca is not None:
        return f"it was with --client-ca, so have that CA sign one ({plan.client_ca})"
    return "it was with --tls-cert, without --client-ca" if plan.tls_cert is not None else ""


def _front_proxy(plan: Plan, clock: Clock) -> "Callable[[], FrontProxy]":
    known = False

    def find() -> "FrontProxy":
        from kinepy_server.auth.front_proxy import ensure_front_proxy, renewed_front_proxy
        from kinepy_server.auth.pki import utc_now

        nonlocal known
        found = (renewed_front_proxy if known else ensure_front_proxy)(
            plan.data / "pki", now=utc_now(clock.now_us())
        )
        known = True
        return found

    return find


def _delegation(plan: Plan) -> "Delegation | None":
    if plan.aggregation is None:
        return None
    from kinepy_server.auth.delegated.setup import Delegation
    from kinepy_server.cli.aggregation import authorities

    return Delegation(
        host=plan.aggregation.host,
        request_header=plan.aggregation.request_header,
        client_ca=authorities(plan.client_ca) if plan.client_ca is not None else None,
    )


def _tls(plan: Plan, *, clock: Clock) -> tuple[Tls, str]:
    """What to serve with, and what clients are to trust."""
    behind = plan.aggregation is not None
    client_ca = None if behind else plan.client_ca
    if plan.tls_cert is not None and plan.tls_key is not None:
        given = Tls(plan.tls_cert, plan.tls_key, client_ca, asks_clients=behind)
        given.read()
        return given, plan.tls_cert.read_text(errors="replace")
    from urllib.parse import urlsplit

    from kinepy_server.auth.pki import ensure_pki, renew_pki, utc_now

    folder = plan.data / "pki"
    names = [plan.host, urlsplit(served_url(plan)).hostname or "", *plan.tls_san]

    def renew() -> None:
        renew_pki(folder, names, now=utc_now(clock.now_us()))

    files = ensure_pki(folder, names, now=utc_now(clock.now_us()))
    client_ca = None if behind else client_ca or files.ca
    tls = Tls(files.chain, client_ca=client_ca, asks_clients=behind, renew=renew)
    tls.read()
    return tls, files.ca.read_text()
