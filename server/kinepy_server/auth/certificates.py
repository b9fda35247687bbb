"""Users by client certificate: the common name is the user, the organizations are its groups (AUTH-1).

The TLS handshake has verified the certificate's chain; what is left is whose it is, and whether its time has
run out, or its authority has been replaced, while the connection stayed open or its session was kept.
"""

import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kinepy.clock import Clock
from kinepy_server.auth.user import User, authenticated

if TYPE_CHECKING:
    from kinepy_server.auth.chains import Bundle, Chain

KNOWN_MAX = 10_000
_CREDENTIAL = "authentication.kubernetes.io/credential-id"


@dataclass(frozen=True, slots=True)
class _Holder:
    """Whose a certificate is, and when all of its chain is good (microseconds since 1970)."""

    user: User | None
    chain: "Chain | None"
    good_from: int = 1
    good_to: int = 0


class CertificateUsers:
    """Finds users by their certificates (DER)."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[bytes, _Holder] = {}
        self._client_ca: str | None = None
        self._replacing: Bundle | None = None

    def attach(self, _: ssl.SSLContext, client_ca: str) -> None:
        """Take certificates of these authorities (PEM) from now on, and of no other. Raises BadTrust."""
        if self._client_ca is not None and client_ca != self._client_ca:
            from kinepy_server.auth.chains import Bundle

            self._replacing = Bundle(client_ca)
        self._client_ca = client_ca

    def user(self, shown: tuple[bytes, ...]) -> tuple[bool, User | None]:
        """Whether what was shown (the certificate, and those above it) is good now, and its user: None when it names
        none."""
        holder = self._holder(shown)
        now = self._clock.now_us()
        good = holder.good_from <= now <= holder.good_to
        if good and self._replacing is not None and holder.chain is not None:
            good = self._replacing.vouches_for(holder.chain, now_us=now)
        return good, holder.user

    def _holder(self, shown: tuple[bytes, ...]) -> _Holder:
        known = self._known.get(shown[0])
        # A session that was resumed shows nothing above the certificate: what the handshake saw is remembered.
        if known is not None and (len(shown) == 1 or known.chain is None or known.chain.ders == shown):
            return known
        if len(self._known) >= KNOWN_MAX:
            self._known.clear()
        holder = self._known[shown[0]] = _read(shown)
        return holder


def _read(shown: tuple[bytes, ...]) -> _Holder:
    import hashlib

    from kinepy_server.auth.chains import Chain

    try:
        chain = Chain(shown)
        starts = [round(one.not_valid_before_utc.timestamp() * 1e6) for one in chain.certificates]
        ends = [round(one.not_valid_after_utc.timestamp() * 1e6) for one in chain.certificates]
        user = None
        if chain.common_name:
            extra = {_CREDENTIAL: (f"X509SHA256={hashlib.sha256(shown[0]).hexdigest()}",)}
            user = authenticated(chain.common_name, chain.organizations, extra=extra)
    except ValueError:
        # OpenSSL is less strict.
        return _Holder(None, None)
    return _Holder(user, chain, max(starts), min(ends))
