"""The certificate by which servers behind this one know it, and the authority that has signed it.

front-proxy-ca.crt, front-proxy-ca.key           made on first start beside the server's own authority
front-proxy-client.crt, front-proxy-client.key   this server as a client; the certificate is renewed, the key stays

It is another authority than that of users: whoever holds such a certificate may tell a backend any user.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kinepy_server.auth.files import locked, write_public
from kinepy_server.auth.pki import (
    CA_LIFE,
    builder,
    ca_key_of,
    certificate_pem,
    key_pem,
    read_ca_key,
    read_certificate,
    signed_by,
    signer_of,
    usage,
)

CA_NAME, CLIENT_NAME = "front-proxy-ca", "front-proxy-client"
"""The common names; backends are told the second one."""
CLIENT_LIFE = timedelta(days=365)
RENEWED_BEFORE = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class FrontProxy:
    """The authority's certificate, and key and certificate of the client, as PEM."""

    ca: str
    chain: str = field(repr=False)


def new_front_proxy() -> FrontProxy:
    """One that is stored nowhere."""
    now = datetime.now(UTC)
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca = _authority(ca_key, now=now)
    return FrontProxy(certificate_pem(ca), key_pem(key) + certificate_pem(_client(key, ca, ca_key, now=now)))


def ensure_front_proxy(folder: Path, *, now: datetime) -> FrontProxy:
    """Make what is missing, under a lock, so that many servers may start on one folder at once.

    Raises OSError and BadPki.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    ca_file, ca_key_file = folder / f"{CA_NAME}.crt", folder / f"{CA_NAME}.key"
    with locked(folder / ".lock"):
        if not ca_file.exists():
            made = ca_key_of(ca_key_file, wanted="certificate of the front proxy's CA can be made")
            write_public(ca_file, certificate_pem(_authority(made, now=now)))
        ca_key_of(folder / f"{CLIENT_NAME}.key", wanted="certificate of the front proxy can be issued")
    return renewed_front_proxy(folder, now=now)


def renewed_front_proxy(folder: Path, *, now: datetime) -> FrontProxy:
    """The one that is there, its certificate issued anew where it is time to: another authority is never made.

    Raises OSError and BadPki.
    """
    ca_file, ca_key_file = folder / f"{CA_NAME}.crt", folder / f"{CA_NAME}.key"
    file, key_file = folder / f"{CLIENT_NAME}.crt", folder / f"{CLIENT_NAME}.key"
    with locked(folder / ".lock"):
        if not _good(file, ca_file, key_file, now=now):
            wanted = "certificate of the front proxy can be issued"
            key, (ca, ca_key) = (
                read_ca_key(key_file, wanted=wanted),
                signer_of(ca_file, ca_key_file, wanted=wanted),
            )
            write_public(file, certificate_pem(_client(key, ca, ca_key, now=now)))
        return FrontProxy(ca_file.read_text(), key_file.read_text() + file.read_text())


def _good(file: Path, ca_file: Path, key_file: Path, *, now: datetime) -> bool:
    """Whether the client's certificate is this authority's and this key's, and is good for a while."""
    if not file.exists():
        return False
    certificate, key = read_certificate(file), read_ca_key(key_file, wanted="front proxy can be shown")
    lasts = certificate.not_valid_after_utc - now > RENEWED_BEFORE
    return (
        lasts
        and signed_by(certificate, read_certificate(ca_file))
        and certificate.public_key() == key.public_key()
    )


def _authority(key: ec.EllipticCurvePrivateKey, *, now: datetime) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, CA_NAME)])
    return (
        builder(subject, subject, key.public_key(), now=now, life=CA_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )


def _client(
    key: ec.EllipticCurvePrivateKey,
    ca: x509.Certificate,
    ca_key: ec.EllipticCurvePrivateKey,
    *,
    now: datetime,
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, CLIENT_NAME)])
    authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key())
    return (
        builder(subject, ca.subject, key.public_key(), now=now, life=CLIENT_LIFE)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .add_extension(authority, critical=False)
        .sign(ca_key, hashes.SHA256())
    )
