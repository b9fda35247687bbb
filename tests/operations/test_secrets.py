"""Nothing that is secret stands in the log, in an error or in the figures, whatever goes wrong."""

import json
import os
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.processes import Client, ServerProcess

VALUE = "hunter2-the-value-of-a-secret"
OF_A_FILE = "hunter3-a-token-of-the-file"
WRONG = "hunter4-a-token-that-nobody-has"
SECRETS = "/api/v1/namespaces/default/secrets"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
PATCH = "application/strategic-merge-patch+json"
QUIET = ("--controllers", "none", "--set", "write_timeout_s=2", "--set", "lock_timeout_s=1")


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


def secret(name: str, **more: object) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "data": {"k": encoded(VALUE)},
        **more,
    }


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    """A server of which all loggers tell all they have, with a user in a file."""
    tokens = tmp_path / "tokens.csv"
    tokens.write_text(f'{OF_A_FILE},ann,1,"system:masters"\n')
    with ServerProcess(tmp_path / "data", options=(*QUIET, "--token-file", str(tokens))) as running:
        yield running


def provoke(client: Client) -> list[httpx.Response]:
    """Everything that may go wrong around a Secret."""
    http, json_type = client.http, {"Content-Type": "application/json"}
    stored = client.send("POST", SECRETS, secret("s")).json()
    stale = {**stored, "metadata": {**stored["metadata"], "resourceVersion": "1"}}
    return [
        client.send("POST", SECRETS, secret("s")),
        client.send("POST", SECRETS, secret("S_", type="Opaque")),
        client.send("POST", SECRETS, secret("t", data={"k": [encoded(VALUE)]})),
        client.send("POST", SECRETS, secret("t", data={"bad key": encoded(VALUE)})),
        client.send("POST", SECRETS, secret("t", type="kubernetes.io/tls")),
        client.send("PUT", f"{SECRETS}/s", stale),
        client.send(
            "PATCH", f"{SECRETS}/s", {"data": {"k": 5, "l": encoded(VALUE)}}, **{"Content-Type": PATCH}
        ),
        http.post(SECRETS, content=b"[" * 5000 + VALUE.encode(), headers=json_type),
        http.post(SECRETS, content=b'{"data":{"k":"' + encoded(VALUE).encode() * 200_000, headers=json_type),
        client.send("POST", REVIEWS, {"spec": {"token": WRONG}}),
        client.send("POST", REVIEWS, {"spec": {"token": OF_A_FILE}}),
        http.get(SECRETS, headers={"Authorization": f"Bearer {WRONG}"}),
        http.get(SECRETS, headers={"Authorization": f"Basic {encoded(WRONG)}"}),
        http.get(f"{SECRETS}?access_token={WRONG}&limit=nonsense"),
        http.get(SECRETS, headers={"Authorization": f"Bearer {OF_A_FILE}"}),
    ]


def hidden(server: ServerProcess) -> list[str]:
    assert server.token is not None
    return [VALUE, encoded(VALUE), OF_A_FILE, WRONG, encoded(WRONG), server.token]


def told(server: ServerProcess) -> str:
    return "\n".join(server.output)


def test_no_log_and_no_figure_tells_a_secret(server: ServerProcess) -> None:
    with server.client() as client:
        codes = [answer.status_code for answer in provoke(client)]
        figures = client.http.get("/metrics").text
    assert [code for code in codes if code >= 500] == []
    server.stop()
    for text in hidden(server):
        assert text not in told(server) + figures


def test_no_refusal_tells_the_value_of_a_secret(server: ServerProcess) -> None:
    with server.client() as client:
        refusals = [answer for answer in provoke(client) if answer.status_code >= 400]
    assert len(refusals) >= 8
    # A patch whose result is no Secret is shown to who sent it, as the original does.
    refusals = [answer for answer in refusals if answer.request.method != "PATCH"]
    shown = [answer for answer in refusals if VALUE in answer.text or encoded(VALUE) in answer.text]
    assert [answer.text for answer in shown] == []
    assert not any(token in answer.text for answer in refusals for token in (OF_A_FILE, WRONG))


def test_a_database_that_fails_tells_no_secret(server: ServerProcess) -> None:
    with server.client() as client:
        client.send("POST", SECRETS, secret("s"))
        (server.data / "kinepy.db").unlink()
        refused = [client.send("POST", SECRETS, secret(f"t{n}")) for n in range(3)]
    assert {answer.status_code for answer in refused} == {503}
    server.stop()
    assert told(server).count("\n") > 0, "there was something to tell"
    for text in hidden(server)[:5]:
        assert text not in told(server) + "".join(answer.text for answer in refused)


def test_files_are_the_owners_alone_whatever_the_mask_allows(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with ServerProcess(tmp_path / "data") as running, running.client() as client:
            client.create("one")
            modes = {
                path.name: path.stat().st_mode & 0o777
                for path in (running.data, *running.data.rglob("*"))
                if path.suffix != ".crt"
            }
    finally:
        os.umask(before)
    assert {name: oct(mode) for name, mode in modes.items() if mode & 0o077} == {}
    assert {"admin.token", "kubeconfig", "kinepy.db", "kinepy.db-wal", "witness", "sa.key"} <= set(modes)


def test_the_objects_of_a_backup_are_the_owners_alone(server: ServerProcess, tmp_path: Path) -> None:
    from tests.processes import run_kinepy

    with server.client() as client:
        client.send("POST", SECRETS, secret("s"))
    before = os.umask(0)
    try:
        done = run_kinepy("backup", str(tmp_path / "backup.json"), "--data", str(server.data))
    finally:
        os.umask(before)
    assert (done.returncode, done.stderr) == (0, "")
    assert VALUE not in done.stdout
    assert (tmp_path / "backup.json").stat().st_mode & 0o777 == 0o600
    lines = (tmp_path / "backup.json").read_text().splitlines()
    assert any(json.loads(line).get("key") == "/registry/secrets/default/s" for line in lines)
