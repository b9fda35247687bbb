"""What the host's ConfigMap says of whom to trust is followed."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from kinepy_server.auth.delegated.said import Said
from kinepy_server.auth.delegated.trust import Trust
from tests.aggregated.authority import Authority
from tests.aggregated.servers import WIDGETS, Behind, grant, refused_text, serve_behind
from tests.patience import until
from tests.processes import Json, ServerProcess, ok

CONFIGMAPS = "/api/v1/namespaces/kube-system/configmaps"
NAME = "extension-apiserver-authentication"
HEADERS = {
    "requestheader-allowed-names": '["proxy"]',
    "requestheader-username-headers": '["X-Remote-User"]',
    "requestheader-group-headers": '["X-Remote-Group"]',
    "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
}


def say(host: ServerProcess, data: Mapping[str, str]) -> None:
    """Let the host's ConfigMap say it."""
    body: Json = {"metadata": {"name": NAME}, "data": data}
    with host.client() as admin:
        reply = admin.send("PUT", f"{CONFIGMAPS}/{NAME}", body)
        if reply.status_code == 404:
            ok(admin.send("POST", CONFIGMAPS, body), 201)
        else:
            ok(reply)


@pytest.fixture
def own_host(tmp_path: Path) -> Json:
    """A host whose ConfigMap a test may change."""
    data = tmp_path / "host"
    with ServerProcess(data, database="sqlite:///:memory:", options=("--controllers", "none")) as host:
        grant(host, "jane", "list")
        yield host


def test_the_host_says_who_its_front_proxy_is_and_may_say_otherwise_later(
    own_host: ServerProcess, tmp_path: Path
) -> None:
    first, second = Authority("first"), Authority("second")
    say(own_host, HEADERS | {"requestheader-client-ca-file": first.pem})
    with serve_behind(own_host, tmp_path) as server:
        old, new = (Behind(server, authority.issue("proxy")) for authority in (first, second))
        with old.proxied(tmp_path) as proxy, old.client(None, tmp_path, x_remote_user="jane") as forger:
            ok(proxy.get(WIDGETS))
            say(own_host, HEADERS | {"requestheader-client-ca-file": second.pem})
            # The connection is still the one that was made before.
            until(lambda: proxy.get(WIDGETS).status_code == 401)
            assert "system:anonymous" in refused_text(forger.get(WIDGETS))
        with new.proxied(tmp_path) as proxy:
            ok(proxy.get(WIDGETS))


def test_the_host_says_which_certificates_users_have(own_host: ServerProcess, tmp_path: Path) -> None:
    users = Authority("users")
    between = Authority("between", by=users)
    say(own_host, {"client-ca-file": users.pem})
    with serve_behind(own_host, tmp_path) as server:
        behind = Behind(server, users.issue("jane"))
        with behind.client(behind.proxy, tmp_path) as jane:
            ok(jane.get(WIDGETS))
        with behind.client(between.issue("jane", above=(between.certificate,)), tmp_path) as jane:
            ok(jane.get(WIDGETS))
        with behind.client(users.issue("bob"), tmp_path, x_remote_user="jane") as bob:
            assert 'User "bob"' in refused_text(bob.get(WIDGETS))


def test_what_cannot_be_understood_is_not_followed(caplog: pytest.LogCaptureFixture) -> None:
    said, trust, good = Said(None, None), Trust(), Authority("proxies")
    said.learn(trust, {"data": HEADERS | {"requestheader-client-ca-file": good.pem}})
    before = trust.request_header
    users = {"client-ca-file": Authority("users").pem}
    said.learn(trust, {"data": HEADERS | users | {"requestheader-allowed-names": "nonsense"}})
    assert bool(trust.clients)
    said.learn(trust, {"data": HEADERS | {"requestheader-client-ca-file": "nonsense"}})
    assert trust.request_header is before and bool(trust.proxies)
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]
