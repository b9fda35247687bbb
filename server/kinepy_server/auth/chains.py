"""Chains of certificates, and the authorities that may vouch for them."""

from collections.abc import Sequence

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

_UNREADABLE = (ValueError, x509.InvalidVersion)
"""What is raised where OpenSSL may be less strict."""


class BadTrust(ValueError):
    """What is said of whom to trust, or what is shown, cannot be used; the text is one line."""


class Bundle:
    """The certificates of authorities."""

    def __init__(self, pem: str) -> None:
        """Raises `BadTrust`."""
        try:
            found = x509.load_pem_x509_certificates(pem.encode()) if pem.strip() else []
        except _UNREADABLE as error:
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
        """Raises `BadTrust`."""
        self.ders = ders
        try:
            self.certificates = [x509.load_der_x509_certificate(der) for der in ders]
        except _UNREADABLE as error:
            raise BadTrust("a certificate cannot be read") from error

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
