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
    from kinepy_server.auth.chains import Bundle

KNOWN_MAX = 10_000
_CREDENTIAL = "authentication.kubernetes.io/credential-id"


@dataclass(frozen=True, slots=True)
class _Holder:
    """Whose a certificate is, and when it is good (microseconds since 1970)."""

    user: User | None
    good_from: int
    good_to: int


class CertificateUsers:
    """Finds users by their certificates (DER)."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[bytes, _Holder] = {}
        self._authorities: frozenset[bytes] | None = None
        self._replacing: Bundle | None = None

    def attach(self, context: ssl.SSLContext) -> None:
        """Take certificates of the context's authorities from now on, and of no other."""
        authorities = frozenset(context.get_ca_certs(binary_form=True))
        if self._authorities is not None and authorities != self._authorities:
            from kinepy_server.auth.chains import Bundle

            self._replacing = Bundle("".join(map(ssl.DER_cert_to_PEM_cert, authorities)))
        self._authorities = authorities

    def user(self, shown: tuple[bytes, ...]) -> tuple[bool, User | None]:
        """Whether what was shown (the certificate, and those above it) is good now, and its user: None when it names
        none."""
        certificate = shown[0]
        holder = self._known.get(certificate)
        if holder is None:
            if len(self._known) >= KNOWN_MAX:
                self._known.clear()
            holder = self._known[certificate] = _read(certificate)
        good = holder.good_from <= self._clock.now_us() <= holder.good_to
        return good and (self._replacing is None or self._vouched(shown, self._replacing)), holder.user

    def _vouched(self, shown: tuple[bytes, ...], authorities: "Bundle") -> bool:
        from kinepy_server.auth.chains import Chain

        return authorities.vouches_for(Chain(shown), now_us=self._clock.now_us())


def _read(certificate: bytes) -> _Holder:
    import hashlib

    from cryptography import x509
    from cryptography.x509.oid import NameOID

    read = x509.load_der_x509_certificate(certificate)
    good_from, good_to = (
        round(instant.timestamp() * 1e6) for instant in (read.not_valid_before_utc, read.not_valid_after_utc)
    )
    names = read.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    if not names or not names[-1].value:
        return _Holder(None, good_from, good_to)
    groups = [str(one.value) for one in read.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
    extra = {_CREDENTIAL: (f"X509SHA256={hashlib.sha256(certificate).hexdigest()}",)}
    return _Holder(authenticated(str(names[-1].value), groups, extra=extra), good_from, good_to)
