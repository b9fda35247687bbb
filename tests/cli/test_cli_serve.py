"""`kinepy serve` from its first line to its last."""

import os
import signal
import ssl
import stat
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import httpx
import psutil
import pytest
import yaml

from kinepy_server.auth.pki import certificate_pem, ensure_pki, read_certificate
from tests.processes import COMMAND, READY, ServerProcess, ok, run_kinepy

MEMORY = "sqlite:///:memory:"


def test_it_serves_in_the_safe_default(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data") as server, server.client() as client:
        assert ok(client.get("/api/v1/namespaces/default"))["metadata"]["name"] == "default"
        assert client.get("/readyz").text == "ok"
        with pytest.raises(httpx.ConnectError):
            httpx.get(server.url, trust_env=False)
        anonymous = httpx.get(f"{server.url}/api/v1/namespaces", verify=server.tls, trust_env=False)
        assert anonymous.status_code == 403
        assert server.stop() == 0


def test_it_prints_one_line_when_it_is_ready(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data", database=MEMORY) as server:
        assert server.output == [f"{READY}{server.url}"]
        assert server.stop() == 0
    assert server.output == [f"{READY}{server.url}"]


def test_files_for_clients_are_private_and_right(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data", database=MEMORY) as server:
        config = yaml.safe_load(server.kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        assert cluster["server"] == server.url
        assert user["token"] == server.token
        for name in ("kubeconfig", "admin.token"):
            assert stat.S_IMODE((server.data / name).stat().st_mode) == 0o600
        printed = run_kinepy("kubeconfig", "--data", str(server.data))
        assert printed.stdout == server.kubeconfig.read_text()


def test_the_kubeconfig_stays_good_over_restarts(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data") as server:
        before = server.kubeconfig.read_text()
        server.stop()
        server.restart()
        assert server.kubeconfig.read_text() == before


def test_insecure_is_plain_http_and_everybody_is_admin(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data", database=MEMORY, insecure=True) as server:
        assert httpx.get(f"{server.url}/api/v1/namespaces", trust_env=False).status_code == 200
        assert yaml.safe_load(server.kubeconfig.read_text())["users"][0]["user"] == {}
    refused = run_kinepy("kubeconfig", "--data", str(tmp_path / "data"), "--user", "jane")
    assert (
        refused.returncode,
        "no certificates of its own CA: it was with --insecure" in refused.stderr,
    ) == (1, True)


def test_who_takes_certificates_of_another_ca_is_not_given_one_of_the_own(tmp_path: Path) -> None:
    other = ensure_pki(tmp_path / "other", [], now=datetime.now(UTC)).ca
    options = ("--client-ca", str(other), "--controllers", "none")
    with (
        ServerProcess(tmp_path / "data", database=MEMORY, options=options) as server,
        server.client() as client,
    ):
        assert client.http.get("/readyz").status_code == 200
    refused = run_kinepy("kubeconfig", "--data", str(tmp_path / "data"), "--user", "jane")
    assert (refused.returncode, f"have that CA sign one ({other})" in refused.stderr) == (1, True)


def test_status_finds_a_server_whose_certificate_stands_for_itself(tmp_path: Path) -> None:
    files = ensure_pki(tmp_path / "own", ["localhost"], now=datetime.now(UTC))
    leaf, key = tmp_path / "leaf.crt", tmp_path / "leaf.key"
    key.write_bytes(files.chain.read_bytes())
    leaf.write_text(certificate_pem(read_certificate(files.chain)))
    options = ("--tls-cert", str(leaf), "--tls-key", str(key), "--controllers", "none")
    with ServerProcess(tmp_path / "data", options=options) as server:
        assert server.url in run_kinepy("status", "--data", str(tmp_path / "data")).stdout


def test_a_token_file_names_further_users(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('t1,jane,u1,"dev"\nt2,root,u2,"system:masters"\n')
    options = ("--token-file", str(tokens))
    with ServerProcess(tmp_path / "data", database=MEMORY, options=options) as server:
        codes = [
            httpx.get(
                f"{server.url}/api/v1/namespaces",
                headers={"Authorization": f"Bearer {token}"},
                verify=server.tls,
                trust_env=False,
            ).status_code
            for token in ("t1", "t2", "t3")
        ]
    assert codes == [403, 200, 401]


def test_options_are_environment_variables_too(tmp_path: Path) -> None:
    environment = {"KINEPY_CONTROLLERS": "frob"}
    done = subprocess.run(
        [*COMMAND, "serve", "--data", str(tmp_path)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert "there is no controller 'frob'" in done.stderr


def test_the_advertised_url_stands_in_the_kubeconfig_and_its_name_in_the_certificate(tmp_path: Path) -> None:
    options = ("--advertise-url", "https://api.example:8443", "--tls-san", "10.9.8.7")
    with ServerProcess(tmp_path / "data", database=MEMORY, options=options) as server:
        config = yaml.safe_load(server.kubeconfig.read_text())
        assert config["clusters"][0]["cluster"]["server"] == "https://api.example:8443"
        pem = ssl.get_server_certificate(("127.0.0.1", server.port))
    assert b"api.example" in ssl.PEM_cert_to_DER_cert(pem)
    assert bytes((10, 9, 8, 7)) in ssl.PEM_cert_to_DER_cert(pem)


def test_sigterm_ends_watches_cleanly(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data", database=MEMORY) as server, server.client() as client:
        with client.watch("/api/v1/namespaces", resourceVersion="0") as events:
            next(events)
            started = time.monotonic()
            os.kill(server.pid, signal.SIGTERM)
            for _ in events:  # ends without an error: the stream is complete
                pass
        assert server._running().wait(20) == 0
        assert time.monotonic() - started < 5


def test_workers_share_one_port_and_one_database(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data", options=("--workers", "2")) as server:
        workers = psutil.Process(server.pid).children()
        assert len(workers) == 2
        for number in range(8):
            with server.client() as client:
                client.create(f"cm-{number}")
                items = ok(client.get("/api/v1/namespaces/default/configmaps"))["items"]
                names = {item["metadata"]["name"] for item in items}
                assert names - {"kube-root-ca.crt"} == {f"cm-{made}" for made in range(number + 1)}
        assert server.stop() == 0
        assert not any(worker.is_running() for worker in workers)


def test_a_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data", options=("--workers", "2")) as server:
        victim = psutil.Process(server.pid).children()[0]
        victim.kill()
        deadline = time.monotonic() + 20
        while (
            victim.pid in (pids := [child.pid for child in psutil.Process(server.pid).children()])
            or len(pids) < 2
        ):
            assert time.monotonic() < deadline, "no worker took the place of the one that was killed"
        assert server.stop() == 0


def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data", options=("--workers", "2")) as server:
        workers = psutil.Process(server.pid).children()
        os.kill(server.pid, signal.SIGKILL)
        _, alive = psutil.wait_procs(workers, timeout=15)
        assert not alive
