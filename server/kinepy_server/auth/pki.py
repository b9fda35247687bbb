"""The server's own certificate authority, made once in a folder that replicas share.

ca.crt, ca.key   made on first start; clients trust ca.crt
server.pem       key and certificate of the server, issued by the CA; anew when a name is missing in it or its
                 time runs out. It is one file, so that no reader ever meets the key of another certificate.
"""

import ipaddress
import socket
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kinepy_server.auth.files import locked, write_private, write_public

CA_LIFE = timedelta(days=3650)
SERVER_LIFE = timedelta(days=365)
SERVER_RENEWED_BEFORE = timedelta(days=30)
CLOCK_SKEW = timedelta(minutes=5)
CLUSTER_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
LOOPBACK = ("127.0.0.1", "::1")


class BadPki(ValueError):
    """The certificate folder cannot be used; the text is one line and says what to do."""


@dataclass(frozen=True, slots=True)
class ServerFiles:
    """What TLS needs, as files."""

    ca: Path
    chain: Path
    """The server's key and certificate."""


def server_names(hosts: Collection[str]) -> Sequence[str]:
    """All names and addresses that the server's certificate is to hold."""
    wildcards = {"", "0.0.0.0", "::"}
    given = [_canonical(host) for host in hosts if host not in wildcards]
    own = own_addresses() if wildcards & set(hosts) else []
    return sorted({*CLUSTER_NAMES, *LOOPBACK, *given, *own})


def _canonical(name: str) -> str:
    """An address as certificates have it, without its zone; a name as it is."""
    try:
        return str(ipaddress.ip_address(name.partition("%")[0]))
    except ValueError:
        return name


def own_addresses() -> Sequence[str]:
    """This machine's name and the addresses that it stands for: what a wildcard address is reached by."""
    name = socket.gethostname()
    try:
        found = {_canonical(str(info[4][0])) for info in socket.getaddrinfo(name, None)}
    except OSError:
        found = set()
    return [name, *found]


def ensure_pki(folder: Path, hosts: Collection[str], *, now: datetime) -> ServerFiles:
    """Make what is missing, under a lock, so that many servers may start on one folder at once.

    Raises OSError and BadPki.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    files = ServerFiles(folder / "ca.crt", folder / "server.pem")
    with locked(folder / ".lock"):
        if not files.ca.exists():
            _make_ca(files.ca, folder / "ca.key", now=now)
    renew_pki(folder, hosts, now=now)
    return files


def renew_pki(folder: Path, hosts: Collection[str], *, now: datetime) -> None:
    """Issue the server's certificate anew where it is time to, by the authority that clients trust: another one is
    never made. Raises OSError and BadPki."""
    files = ServerFiles(folder / "ca.crt", folder / "server.pem")
    names = server_names(hosts)
    if _serves(files, names, now=now):
        return
    with locked(folder / ".lock"):
        if not _serves(files, names, now=now):
            _issue(files, folder / "ca.key", names=names, now=now)


def _make_ca(certificate: Path, key: Path, *, now: datetime) -> None:
    # With the key that is there, what it has signed stays good.
    private = ca_key_of(key, wanted="CA's certificate can be made")
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kinepy-ca")])
    signed = (
        builder(subject, subject, private.public_key(), now=now, life=CA_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(private.public_key()), critical=False)
        .sign(private, hashes.SHA256())
    )
    write_public(certificate, certificate_pem(signed))


def _serves(files: ServerFiles, names: Collection[str], *, now: datetime) -> bool:
    """Whether the certificate there is holds all the names, is this CA's and its key's, and is good for a while."""
    if not files.chain.exists():
        return False
    certificate, ca = read_certificate(files.chain), read_certificate(files.ca)
    lasts = certificate.not_valid_after_utc - now > SERVER_RENEWED_BEFORE
    named = set(names) <= _names_in(certificate)
    return lasts and named and signed_by(certificate, ca) and _has_key_of(files.chain, certificate)


def _has_key_of(path: Path, certificate: x509.Certificate) -> bool:
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return False
    return key.public_key() == certificate.public_key()


def _names_in(certificate: x509.Certificate) -> set[str]:
    try:
        held = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    addresses = held.get_values_for_type(x509.IPAddress)
    return {*held.get_values_for_type(x509.DNSName), *(str(address) for address in addresses)}


def signed_by(certificate: x509.Certificate, ca: x509.Certificate) -> bool:
    """Whether a certificate is of an authority."""
    try:
        certificate.verify_directly_issued_by(ca)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def _issue(files: ServerFiles, ca_key: Path, *, names: Sequence[str], now: datetime) -> None:
    # Replicas with names of their own share the folder: names are added, or each start would undo the last one.
    held = _names_in(read_certificate(files.chain)) if files.chain.exists() else set()
    ca, signer = signer_of(files.ca, ca_key, wanted=f"certificate can be issued for {', '.join(names)}")
    private = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kinepy")])
    alternatives = x509.SubjectAlternativeName([_general_name(name) for name in sorted(held.union(names))])
    signed = (
        builder(subject, ca.subject, private.public_key(), now=now, life=SERVER_LIFE)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(alternatives, critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
        .sign(signer, hashes.SHA256())
    )
    write_private(files.chain, key_pem(private) + certificate_pem(signed))


def ca_key_of(path: Path, *, wanted: str) -> ec.EllipticCurvePrivateKey:
    """The key in a file, which is made when absent. Raises as `read_ca_key`."""
    if not path.exists():
        write_private(path, key_pem(ec.generate_private_key(ec.SECP256R1())))
    return read_ca_key(path, wanted=wanted)


def signer_of(
    certificate: Path, key: Path, *, wanted: str
) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """An authority with its key, which must be its own. Raises OSError and BadPki."""
    private, ca = read_ca_key(key, wanted=wanted), read_certificate(certificate)
    if private.public_key() != ca.public_key():
        raise BadPki(f"{key} is not the key of {certificate}, so no {wanted}: put back what belongs together")
    return ca, private


def read_ca_key(path: Path, *, wanted: str) -> ec.EllipticCurvePrivateKey:
    """The key that certificates are signed with; `wanted` is what cannot be done without it. Raises BadPki."""
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise UnsupportedAlgorithm("not of an elliptic curve")
    # TypeError: it has a password.
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise BadPki(
            f"cannot read {path}, so no {wanted}: "
            "put the key back (of an elliptic curve, without a password), "
            "or remove the folder to start with a new CA"
        ) from error
    return key


def builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, *, now: datetime, life: timedelta
) -> x509.CertificateBuilder:
    """A certificate that is good from now on, without extensions."""
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + life)
    )


def usage(*, signs_certificates: bool) -> x509.KeyUsage:
    """What the key of a certificate is for."""
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def read_certificate(path: Path) -> x509.Certificate:
    """The certificate in a file; of several the first."""
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except (ValueError, x509.InvalidVersion) as error:
        raise BadPki(f"{path} is no certificate: remove it and it is made anew") from error


def certificate_pem(certificate: x509.Certificate) -> str:
    """A certificate as text."""
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    """A private key as text."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


def utc_now(now_us: int) -> datetime:
    """A clock's microseconds as an instant."""
    return datetime.fromtimestamp(now_us / 1e6, UTC)
