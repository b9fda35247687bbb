"""Users by client certificate, through a real server and real TLS."""

import ssl
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from kinepy.clock import SystemClock
from kinepy_server.auth.certificates import CertificateUsers
from kinepy_server.auth.client_certificates import LIFE, ClientCertificate, issue_client_certificate
from kinepy_server.auth.pki import ensure_pki
from tests.processes import ServerProcess, run_kinepy

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server in its safe default."""
    data = tmp_path_factory.mktemp("certificates")
    with ServerProcess(data, database="sqlite:///:memory:", options=("--controllers", "none")) as found:
        yield found


def tls(server: ServerProcess, shown: ClientCertificate, folder: Path) -> ssl.SSLContext:
    """A client's TLS that trusts the server and shows a certificate."""
    context = ssl.create_default_context(cafile=server.data / "pki" / "ca.crt")
    chain = folder / "client.pem"
    chain.write_text(shown.key + shown.certificate)
    context.load_cert_chain(chain)
    return context


def issued(server: ServerProcess, user: str, *groups: str, age: timedelta = timedelta()) -> ClientCertificate:
    """A certificate of the server's own CA."""
    return issue_client_certificate(server.data / "pki", user, groups, now=datetime.now(UTC) - age)


def who(server: ServerProcess, context: ssl.SSLContext, **headers: str) -> Any:
    """Whom the server takes a client for."""
    with httpx.Client(verify=context, trust_env=False, headers=headers) as client:
        # Twice on one connection: the certificate is that of the connection.
        client.get(f"{server.url}/version").raise_for_status()
        reply = client.post(server.url + WHO, json={})
    assert reply.status_code == 201, reply.text
    return reply.json()["status"]["userInfo"]


def test_the_common_name_is_the_user_and_organizations_are_groups(
    server: ServerProcess, tmp_path: Path
) -> None:
    user = who(server, tls(server, issued(server, "jane", "devs", "ops"), tmp_path))
    assert (user["username"], user["groups"]) == ("jane", ["devs", "ops", "system:authenticated"])
    [credential] = user["extra"]["authentication.kubernetes.io/credential-id"]
    assert credential.startswith("X509SHA256=")


def test_a_certificate_goes_before_a_token(server: ServerProcess, tmp_path: Path) -> None:
    context = tls(server, issued(server, "jane"), tmp_path)
    assert who(server, context, **server.headers)["username"] == "jane"


def test_a_certificate_of_masters_may_do_everything(server: ServerProcess, tmp_path: Path) -> None:
    context = tls(server, issued(server, "root", "system:masters"), tmp_path)
    with httpx.Client(verify=context, trust_env=False) as client:
        assert client.get(server.url + CONFIGMAPS).status_code == 200


def refused(server: ServerProcess, shown: ClientCertificate, folder: Path) -> bool:
    """Whether the TLS handshake ends a connection."""
    with httpx.Client(verify=tls(server, shown, folder), trust_env=False) as client:
        try:
            client.get(f"{server.url}/version")
        except (httpx.ReadError, httpx.ConnectError, httpx.RemoteProtocolError):
            return True
    return False


def test_a_certificate_of_another_authority_is_refused(server: ServerProcess, tmp_path: Path) -> None:
    other = tmp_path / "pki"
    ensure_pki(other, [], now=datetime.now(UTC))
    shown = issue_client_certificate(other, "jane", ["system:masters"], now=datetime.now(UTC))
    assert refused(server, shown, tmp_path)


def test_a_certificate_whose_time_is_over_is_refused(server: ServerProcess, tmp_path: Path) -> None:
    assert refused(server, issued(server, "jane", age=LIFE + timedelta(days=1)), tmp_path)


def test_without_a_certificate_nobody_is_somebody(server: ServerProcess) -> None:
    context = ssl.create_default_context(cafile=server.data / "pki" / "ca.crt")
    with httpx.Client(verify=context, trust_env=False) as client:
        reply = client.get(server.url + CONFIGMAPS)
    assert reply.status_code == 403
    assert 'User "system:anonymous" cannot list' in reply.json()["message"]


def test_a_watch_over_websocket_knows_the_certificate_too(server: ServerProcess, tmp_path: Path) -> None:
    url = f"wss{server.url.removeprefix('https')}{CONFIGMAPS}?watch=true"
    with connect(url, ssl=tls(server, issued(server, "root", "system:masters"), tmp_path)):
        pass
    with pytest.raises(InvalidStatus) as caught:
        connect(url, ssl=tls(server, issued(server, "jane"), tmp_path))
    assert b'User \\"jane\\" cannot watch' in (caught.value.response.body or b"")


def test_the_command_line_makes_a_kubeconfig_for_a_user(server: ServerProcess, tmp_path: Path) -> None:
    printed = run_kinepy("kubeconfig", "--data", str(server.data), "--user", "a:b", "--group", "g")
    config = yaml.safe_load(printed.stdout)
    assert config["clusters"][0]["cluster"]["server"] == server.url
    assert config["contexts"][0]["context"]["user"] == config["users"][0]["name"] == "a:b"
    decoded = _decoded(config["users"][0]["user"], "client-certificate-data", "client-key-data")
    user = who(server, tls(server, ClientCertificate(*decoded), tmp_path))
    assert (user["username"], user["groups"][0]) == ("a:b", "g")


def _decoded(entry: dict[str, str], *names: str) -> Sequence[str]:
    import base64

    return [base64.b64decode(entry[name]).decode() for name in names]


def test_a_connection_outlives_its_certificate_but_not_its_rights(tmp_path: Path) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding

    ensure_pki(tmp_path, [], now=datetime.now(UTC))
    old = issue_client_certificate(tmp_path, "jane", [], now=datetime.now(UTC) - LIFE - timedelta(days=1))
    der = x509.load_pem_x509_certificate(old.certificate.encode()).public_bytes(Encoding.DER)
    good, _ = CertificateUsers(SystemClock()).user((der,))
    assert not good
