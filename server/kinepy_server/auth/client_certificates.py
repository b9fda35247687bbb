"""Certificates for users, issued by the server's own CA."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kinepy_server.auth.pki import builder, certificate_pem, key_pem, signer_of, usage

LIFE = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A certificate and its key, PEM."""

    certificate: str
    key: str


def issue_client_certificate(
    folder: Path, user: str, groups: Sequence[str], *, now: datetime
) -> ClientCertificate:
    """A certificate of a user in groups, signed by the CA in a folder. Raises `BadPki` without the CA's key."""
    wanted = f"certificate can be issued for {user}"
    ca, signer = signer_of(folder / "ca.crt", folder / "ca.key", wanted=wanted)
    private = ec.generate_private_key(ec.SECP256R1())
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    subject = x509.Name([*names, x509.NameAttribute(NameOID.COMMON_NAME, user)])
    signed = (
        builder(subject, ca.subject, private.public_key(), now=now, life=LIFE)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .sign(signer, hashes.SHA256())
    )
    return ClientCertificate(certificate_pem(signed), key_pem(private))
