"""Whom the host trusts to name users: its front proxy, and the CA of its clients' certificates."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kinepy_server.auth.chains import BadTrust, Bundle, Chain
from kinepy_server.auth.user import User, authenticated

CLIENT_CA, PROXY_CA = "client-ca-file", "requestheader-client-ca-file"
ALLOWED_NAMES = "requestheader-allowed-names"
USERNAME_HEADERS, UID_HEADERS = "requestheader-username-headers", "requestheader-uid-headers"
GROUP_HEADERS, EXTRA_PREFIXES = "requestheader-group-headers", "requestheader-extra-headers-prefix"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHeader:
    """By which certificates a front proxy is known, and in which headers it names users.

    `ca` is PEM, and empty where no front proxy is trusted. Any common name will do when `allowed_names` is empty.
    """

    ca: str = ""
    allowed_names: Sequence[str] = ()
    username_headers: Sequence[str] = ("x-remote-user",)
    uid_headers: Sequence[str] = ()
    group_headers: Sequence[str] = ("x-remote-group",)
    extra_prefixes: Sequence[str] = ("x-remote-extra-",)


def request_header_of(data: Mapping[str, str]) -> RequestHeader:
    """What the host's ConfigMap says of its front proxy. Raises `BadTrust`."""
    return RequestHeader(
        ca=data.get(PROXY_CA, ""),
        allowed_names=_texts(data, ALLOWED_NAMES),
        username_headers=_texts(data, USERNAME_HEADERS),
        uid_headers=_texts(data, UID_HEADERS),
        group_headers=_texts(data, GROUP_HEADERS),
        extra_prefixes=_texts(data, EXTRA_PREFIXES),
    )


def _texts(data: Mapping[str, str], member: str) -> Sequence[str]:
    text = data.get(member, "")
    if not text:
        return ()
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise BadTrust(f"{member} is no JSON list of texts")
    return tuple(value)


@dataclass(frozen=True, slots=True)
class Judged:
    """What a chain is worth. `user` is the one that a certificate of the clients' CA names."""

    front_proxy: bool
    user: User | None
    refused: bool
    """Whether a certificate was shown that nobody vouches for."""


@dataclass(slots=True)
class Trust:
    """Whom to trust now; both parts may change while the server runs."""

    request_header: RequestHeader = field(default_factory=RequestHeader)
    proxies: Bundle = field(default_factory=lambda: Bundle(""))
    clients: Bundle = field(default_factory=lambda: Bundle(""))
    heard: Callable[[], Any] = lambda: None
    """Called after each change."""

    def follow_proxy(self, said: RequestHeader) -> None:
        """Trust another front proxy from now on. Raises `BadTrust`, and changes nothing then."""
        proxies = Bundle(said.ca)
        self.request_header, self.proxies = said, proxies
        self.heard()

    def follow_clients(self, pem: str) -> None:
        """Trust another CA of clients from now on. Raises `BadTrust`, and changes nothing then."""
        self.clients = Bundle(pem)
        self.heard()

    def judge(self, chain: Chain, *, now_us: int) -> Judged:
        """What a chain is worth now."""
        allowed, name = self.request_header.allowed_names, chain.common_name
        good = chain.good_at(now_us)
        by_clients = good and self.clients.vouches_for(chain, now_us=now_us)
        by_proxies = good and self.proxies.vouches_for(chain, now_us=now_us)
        front_proxy = by_proxies and (not allowed or name in allowed)
        user = _certified(chain) if by_clients and name else None
        # As in the original, where each of the two ways refuses by itself unless another one succeeds.
        refused = (bool(self.proxies) and not front_proxy) or (bool(self.clients) and not by_clients)
        return Judged(front_proxy, user, refused)


def _certified(chain: Chain) -> User:
    import hashlib

    extra = {
        "authentication.kubernetes.io/credential-id": (
            f"X509SHA256={hashlib.sha256(chain.ders[0]).hexdigest()}",
        )
    }
    return authenticated(chain.common_name, chain.organizations, extra=extra)
