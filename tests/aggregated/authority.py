"""Certificate authorities of the tests' own."""

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kinepy_server.auth.pki import builder, certificate_pem, key_pem, usage

DAY = timedelta(days=1)


def now() -> datetime:
    """This moment, without its fraction, which no certificate has."""
    return datetime.now(UTC).replace(microsecond=0)


@dataclass(frozen=True)
class Shown:
    """What a client shows: its key, its certificate and, if it has any, those above it."""

    key: ec.EllipticCurvePrivateKey
    certificates: tuple[x509.Certificate, ...]

    @property
    def ders(self) -> tuple[bytes, ...]:
        """The certificates as TLS sends them."""
        return tuple(one.public_bytes(Encoding.DER) for one in self.certificates)

    def tls(self, server_ca: Path, folder: Path) -> ssl.SSLContext:
        """A client's TLS that trusts a server and shows this."""
        chain = folder / f"{id(self)}.pem"
        chain.write_text(key_pem(self.key) + "".join(map(certificate_pem, self.certificates)))
        context = ssl.create_default_context(cafile=server_ca)
        context.load_cert_chain(chain)
        return context


class Authority:
    """Issues certificates."""

    def __init__(
        self, name: str = "ca", *, key: ec.EllipticCurvePrivateKey | None = None, by: Self | None = None
    ) -> None:
        self.key = key or ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        above = by or self
        self.certificate = (
            builder(self.name, above.name, self.key.public_key(), now=now() - DAY, life=30 * DAY)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(usage(signs_certificates=True), critical=True)
            .sign(above.key, hashes.SHA256())
        )

    @property
    def pem(self) -> str:
        """The own certificate."""
        return certificate_pem(self.certificate)

    def write(self, folder: Path) -> Path:
        """A file of the own certificate."""
        file = folder / f"{id(self)}-ca.pem"
        file.write_text(self.pem)
        return file

    def issue(
        self,
        name: str,
        *organizations: str,
        until: timedelta = DAY,
        purpose: x509.ObjectIdentifier = ExtendedKeyUsageOID.CLIENT_AUTH,
        host: str = "",
        above: tuple[x509.Certificate, ...] = (),
    ) -> Shown:
        """A client's certificate that ends `until` from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, one) for one in organizations]
        subject = x509.Name([*parts, *([x509.NameAttribute(NameOID.COMMON_NAME, name)] if name else [])])
        signed = (
            builder(subject, self.name, key.public_key(), now=now() - DAY, life=until + DAY)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(host or "nobody")]), critical=False)
            .sign(self.key, hashes.SHA256())
        )
        return Shown(key, (signed, *above))
