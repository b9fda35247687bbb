"""Certificates and kubeconfig: made once, good for every client, shared by replicas."""

import ssl
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from kinepy_server.auth.client_certificates import issue_client_certificate
from kinepy_server.auth.kubeconfig import client_host, is_loopback, kubeconfig, url_of
from kinepy_server.auth.pki import (
    BadPki,
    ServerFiles,
    certificate_pem,
    ensure_pki,
    read_certificate,
    renew_pki,
    signed_by,
)

NOW, PEM = datetime(2026, 1, 1, tzinfo=UTC), Encoding.PEM


def names(files: ServerFiles) -> set[str]:
    """Names and addresses of the server's certificate."""
    certificate = x509.load_pem_x509_certificate(files.chain.read_bytes())
    held = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return {
        *held.get_values_for_type(x509.DNSName),
        *map(str, held.get_values_for_type(x509.IPAddress)),
    }


def test_the_certificate_is_good_for_tls_and_holds_the_usual_names(tmp_path: Path) -> None:
    files = ensure_pki(tmp_path / "pki", ["10.0.0.7", "api.example"], now=NOW)
    assert {"localhost", "127.0.0.1", "::1", "kubernetes.default.svc", "10.0.0.7", "api.example"} <= names(
        files
    )
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(files.chain)
    ssl.create_default_context(cafile=str(files.ca))


def test_keys_are_private(tmp_path: Path) -> None:
    files = ensure_pki(tmp_path / "pki", [], now=NOW)
    for path in (files.chain, tmp_path / "pki" / "ca.key"):
        assert path.stat().st_mode & 0o777 == 0o600


def test_nothing_changes_on_the_next_start(tmp_path: Path) -> None:
    first = ensure_pki(tmp_path, ["a"], now=NOW)
    chain, ca = first.chain.read_bytes(), first.ca.read_bytes()
    again = ensure_pki(tmp_path, ["a"], now=NOW + timedelta(days=1))
    assert (again.chain.read_bytes(), again.ca.read_bytes()) == (chain, ca)


def test_a_new_name_is_added_by_the_same_ca(tmp_path: Path) -> None:
    first = ensure_pki(tmp_path, ["a"], now=NOW)
    ca = first.ca.read_bytes()
    second = ensure_pki(tmp_path, ["b"], now=NOW)
    assert {"a", "b"} <= names(second)
    assert second.ca.read_bytes() == ca


def test_a_certificate_near_its_end_is_renewed(tmp_path: Path) -> None:
    chain = ensure_pki(tmp_path, [], now=NOW).chain.read_bytes()
    assert ensure_pki(tmp_path, [], now=NOW + timedelta(days=340)).chain.read_bytes() != chain


def test_many_servers_may_start_on_one_folder_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: ensure_pki(tmp_path, [f"host-{n}"], now=NOW), range(16)))
    assert {f"host-{n}" for n in range(16)} <= names(made[0])


def test_a_missing_ca_key_is_named(tmp_path: Path) -> None:
    ensure_pki(tmp_path, [], now=NOW)
    (tmp_path / "ca.key").unlink()
    ensure_pki(tmp_path, [], now=NOW)
    with pytest.raises(BadPki, match=r"ca.key, so no certificate can be issued for .*new\.example"):
        ensure_pki(tmp_path, ["new.example"], now=NOW)


def test_a_ca_certificate_that_is_lost_is_made_anew_with_the_same_key(tmp_path: Path) -> None:
    files = ensure_pki(tmp_path, [], now=NOW)
    before = read_certificate(files.ca)
    key, chain = (tmp_path / "ca.key").read_bytes(), files.chain.read_bytes()
    files.ca.unlink()
    ensure_pki(tmp_path, [], now=NOW)
    assert ((tmp_path / "ca.key").read_bytes(), files.chain.read_bytes()) == (key, chain)
    assert signed_by(read_certificate(files.chain), before)


def test_a_running_server_makes_no_other_ca(tmp_path: Path) -> None:
    files = ensure_pki(tmp_path, [], now=NOW)
    for path in (files.ca, tmp_path / "ca.key"):
        path.unlink()
    with pytest.raises(FileNotFoundError, match=r"ca\.crt"):
        renew_pki(tmp_path, [], now=NOW)
    assert not files.ca.exists()


@pytest.mark.parametrize(
    "key",
    [
        rsa.generate_private_key(65537, 2048).private_bytes(PEM, PrivateFormat.PKCS8, NoEncryption()),
        ec.generate_private_key(ec.SECP256R1()).private_bytes(
            PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")
        ),
        b"rubbish",
    ],
)
def test_a_ca_key_that_cannot_sign_is_named(tmp_path: Path, key: bytes) -> None:
    ensure_pki(tmp_path, [], now=NOW)
    (tmp_path / "ca.key").write_bytes(key)
    with pytest.raises(BadPki, match=r"cannot read .*ca\.key"):
        renew_pki(tmp_path, ["new.example"], now=NOW)


def test_a_ca_and_a_key_that_do_not_belong_together_are_named(tmp_path: Path) -> None:
    files, other = ensure_pki(tmp_path / "a", [], now=NOW), ensure_pki(tmp_path / "b", [], now=NOW)
    chain = files.chain.read_bytes()
    files.ca.write_bytes(other.ca.read_bytes())
    for attempt in (
        lambda: renew_pki(tmp_path / "a", [], now=NOW),
        lambda: ensure_pki(tmp_path / "a", [], now=NOW),
        lambda: issue_client_certificate(tmp_path / "a", "jane", [], now=NOW),
    ):
        with pytest.raises(BadPki, match=r"ca\.key is not the key of .*ca\.crt"):
            attempt()
    assert files.chain.read_bytes() == chain


def test_a_certificate_without_its_key_is_replaced(tmp_path: Path) -> None:
    files = ensure_pki(tmp_path, [], now=NOW)
    files.chain.write_text(certificate_pem(read_certificate(files.chain)))
    renew_pki(tmp_path, [], now=NOW)
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(files.chain)


def test_a_certificate_that_holds_no_names_is_replaced(tmp_path: Path) -> None:
    files = ensure_pki(tmp_path, [], now=NOW)
    files.chain.write_bytes(files.ca.read_bytes())
    renew_pki(tmp_path, [], now=NOW)
    assert "localhost" in names(files)


@pytest.mark.parametrize(
    ("given", "held"), [("2001:0db8::1", "2001:db8::1"), ("fe80::1%eth0", "fe80::1"), ("::1", "::1")]
)
def test_an_address_is_held_once_however_it_is_written(tmp_path: Path, given: str, held: str) -> None:
    files = ensure_pki(tmp_path, [given], now=NOW)
    chain = files.chain.read_bytes()
    renew_pki(tmp_path, [given], now=NOW)
    assert files.chain.read_bytes() == chain
    assert held in names(files)


def test_a_damaged_certificate_is_named(tmp_path: Path) -> None:
    ensure_pki(tmp_path, [], now=NOW).ca.write_text("rubbish")
    with pytest.raises(BadPki, match=r"ca.crt is no certificate"):
        ensure_pki(tmp_path, [], now=NOW)


def test_the_kubeconfig_holds_url_ca_and_token() -> None:
    config = yaml.safe_load(kubeconfig("https://[::1]:6443", ca_pem="PEM", token="t: #"))
    assert config["clusters"][0]["cluster"] == {
        "server": "https://[::1]:6443",
        "certificate-authority-data": "UEVN",
    }
    assert config["users"][0]["user"] == {"token": "t: #"}
    context = config["contexts"][0]
    assert context["name"] == config["current-context"] == config["clusters"][0]["name"]
    assert context["context"]["user"] == config["users"][0]["name"]


def test_the_kubeconfig_of_an_insecure_server_holds_no_secrets() -> None:
    config = yaml.safe_load(kubeconfig("http://127.0.0.1:1"))
    assert config["users"][0]["user"] == {}
    assert config["clusters"][0]["cluster"] == {"server": "http://127.0.0.1:1"}


@pytest.mark.parametrize(
    ("host", "found"), [("0.0.0.0", "127.0.0.1"), ("::", "::1"), ("", "127.0.0.1"), ("10.1.2.3", "10.1.2.3")]
)
def test_clients_on_this_machine_use_loopback_for_wildcards(host: str, found: str) -> None:
    assert client_host(host) == found


def test_addresses_with_colons_stand_in_brackets() -> None:
    assert url_of("https", "::1", 6443) == "https://[::1]:6443"


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("a.b", False),
    ],
)
def test_loopback_is_told_from_what_others_reach(host: str, loopback: bool) -> None:
    assert is_loopback(host) == loopback
