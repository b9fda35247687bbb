"""Whom the host trusts to name users: its front proxy, and the CA of its clients' certificates."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from kinepy_server.auth.user import User, authenticated

CLIENT_CA, PROXY_CA = "client-ca-file", "requestheader-client-ca-file"
ALLOWED_NAMES = "requestheader-allowed-names"
USERNAME_HEADERS, UID_HEADERS = "requestheader-username-headers", "requestheader-uid-headers"
GROUP_HEADERS, EXTRA_PREFIXES = "requestheader-group-headers", "requestheader-extra-headers-prefix"


class BadTrust(Exception):
    """What is said of whom to trust cannot be used; the text is one line."""


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


class Bundle:
    """The certificates of authorities."""

    def __init__(self, pem: str) -> None:
        """Raises `BadTrust`."""
        try:
            found = x509.load_pem_x509_certificates(pem.encode()) if pem.strip() else []
        except ValueError as error:
            raise BadTrust("a bundle of certificates is no PEM") from error
        # Without what may stand between them.
        self.pem = "".join(one.public_bytes(Encoding.PEM).decode() for one in found)
        self._ders = frozenset(one.public_bytes(Encoding.DER) for one in found)
        self._by_subject: dict[bytes, list[x509.Certificate]] = {}
        for one in found:
            self._by_subject.setdefault(one.subject.public_bytes(), []).append(one)

    def __bool__(self) -> bool:
        return bool(self._ders)

    def vouches_for(self, chain: "Chain", *, now_us: int) -> bool:
        """Whether a chain whose links are verified leads to one of them."""
        if not self._ders.isdisjoint(chain.ders):
            return True
        # The handshake may have gone another way: by another certificate of the same authority, or to one below it.
        return any(
            _good_at(authority, now_us) and _issued_by(one, authority)
            for one in chain.certificates
            for authority in self._by_subject.get(one.issuer.public_bytes(), ())
        )


def _good_at(certificate: x509.Certificate, now_us: int) -> bool:
    start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return start.timestamp() * 1e6 <= now_us <= end.timestamp() * 1e6


def _issued_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


class Chain:
    """What a client has shown: its certificate, and those above it by which the handshake has verified it."""

    def __init__(self, ders: tuple[bytes, ...]) -> None:
        self.ders = ders
        self.certificates = [x509.load_der_x509_certificate(der) for der in ders]

    def good_at(self, now_us: int) -> bool:
        """Whether the time of none of them has run out, and that of all has begun."""
        return all(_good_at(one, now_us) for one in self.certificates)

    @property
    def common_name(self) -> str:
        """That of the client; empty without one."""
        names = self._names(NameOID.COMMON_NAME)
        return names[-1] if names else ""

    @property
    def organizations(self) -> Sequence[str]:
        """Those of the client."""
        return self._names(NameOID.ORGANIZATION_NAME)

    def _names(self, oid: x509.ObjectIdentifier) -> list[str]:
        return [str(one.value) for one in self.certificates[0].subject.get_attributes_for_oid(oid)]


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
