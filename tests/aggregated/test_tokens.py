"""Tokens are the host's."""

from pathlib import Path

from tests.aggregated.servers import WIDGETS, Behind, grant, refused_text
from tests.patience import until
from tests.processes import ServerProcess, ok

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


def account_token(host: ServerProcess, name: str) -> str:
    """A token of a new service account of the host."""
    with host.client() as admin:
        ok(admin.send("POST", ACCOUNTS, {"metadata": {"name": name}}), 201)
        spec = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token: str = ok(admin.send("POST", f"{ACCOUNTS}/{name}/token", spec), 201)["status"]["token"]
    return token


def test_a_token_of_the_host_is_good_here(host: ServerProcess, behind: Behind, folder: Path) -> None:
    token = account_token(host, "robot")
    with behind.client(None, folder, authorization=f"Bearer {token}") as robot:
        assert 'User "system:serviceaccount:default:robot"' in refused_text(robot.get(WIDGETS))
        grant(host, "system:serviceaccount:default:robot", "list")
        until(lambda: robot.get(WIDGETS).status_code == 200)


def test_a_token_that_is_good_no_more_is_refused_shortly_after(
    host: ServerProcess, behind: Behind, folder: Path
) -> None:
    token = account_token(host, "leaver")
    with behind.client(None, folder, authorization=f"Bearer {token}") as leaver, host.client() as admin:
        assert leaver.get(WIDGETS).status_code == 403
        ok(admin.send("DELETE", f"{ACCOUNTS}/leaver"))
        until(lambda: leaver.get(WIDGETS).status_code == 401)


def test_a_token_that_the_host_does_not_know_is_refused(behind: Behind, folder: Path) -> None:
    with behind.client(None, folder, authorization="Bearer unknown") as unknown:
        reply = unknown.get(WIDGETS)
    assert (reply.status_code, reply.json()["message"]) == (401, "Unauthorized")


def test_the_server_s_own_admin_is_one_without_the_host(behind: Behind) -> None:
    with behind.server.client() as admin:
        ok(admin.get(WIDGETS))
