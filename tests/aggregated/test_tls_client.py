"""Others are verified as the original verifies them."""

import base64
import ssl
from pathlib import Path

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID

from kinepy_server.aggregation.apiservice import certificates
from kinepy_server.auth.chains import Bundle
from kinepy_server.auth.pki import certificate_pem, key_pem
from kinepy_server.tls_client import client_tls
from tests.aggregated.authority import DAY, Authority, Shown

HOST = "webhook.default.svc"
ROOT = Authority("root")
BETWEEN = Authority("between", by=ROOT)


def served(shown: Shown, folder: Path, *, trusted: str, name: str = HOST) -> None:
    """A handshake with a server that shows this. Raises what is wrong with it."""
    file = folder / "server.pem"
    file.write_text(key_pem(shown.key) + "".join(map(certificate_pem, shown.certificates)))
    theirs = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    theirs.load_cert_chain(file)
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_tls(trusted).wrap_bio(down, up, server_hostname=name)
    server = theirs.wrap_bio(up, down, server_side=True)
    done = False
    while not done:
        done = True
        for end in (client, server):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                done = False


def issued(authority: Authority, *, until_days: float = 1) -> Shown:
    """A server's certificate."""
    return authority.issue("w", purpose=ExtendedKeyUsageOID.SERVER_AUTH, host=HOST, until=until_days * DAY)


@pytest.mark.parametrize("trusted", [ROOT, BETWEEN], ids=["root", "between"])
def test_a_chain_may_end_at_any_trusted_certificate(trusted: Authority, tmp_path: Path) -> None:
    shown = issued(BETWEEN)
    served(Shown(shown.key, (*shown.certificates, BETWEEN.certificate)), tmp_path, trusted=trusted.pem)


def test_what_is_wrong_with_a_certificate_is_found(tmp_path: Path) -> None:
    good, late = issued(ROOT), issued(ROOT, until_days=-0.5)
    served(good, tmp_path, trusted=ROOT.pem)
    for shown, trusted, name in (
        (good, Authority("root").pem, HOST),
        (good, ROOT.pem, "other.default.svc"),
        (late, ROOT.pem, HOST),
        (issued(BETWEEN), ROOT.pem, HOST),
    ):
        with pytest.raises(ssl.SSLCertVerificationError):
            served(shown, tmp_path, trusted=trusted, name=name)


def test_names_between_certificates_may_be_in_any_letters() -> None:
    assert len(client_tls(f"# F\u0151tan\u00fas\u00edtv\u00e1ny\n{ROOT.pem}").get_ca_certs()) == 1
    assert Bundle(f"# F\u0151tan\u00fas\u00edtv\u00e1ny\n{ROOT.pem}").pem == ROOT.pem


@pytest.mark.parametrize("bundle", [b"nope", b"\x30\x82\xff", b" "])
def test_a_bundle_of_something_else_does_not_stand_for_the_system_s(bundle: bytes) -> None:
    found = certificates(base64.b64encode(bundle).decode())
    with pytest.raises(ssl.SSLError):
        client_tls(found)
