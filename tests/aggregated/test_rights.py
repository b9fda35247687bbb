"""Rights are the host's: asked for, kept for a short while, and never made up when the host is away."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.aggregated.authority import Authority
from tests.aggregated.servers import WIDGETS, Behind, grant, refused_text, serve_behind
from tests.custom.definitions import widget
from tests.patience import until
from tests.processes import ServerProcess, ok

APPLY = {"Content-Type": "application/apply-patch+yaml"}


def test_a_right_that_is_taken_away_is_gone_shortly_after(
    host: ServerProcess, behind: Behind, folder: Path
) -> None:
    binding = grant(host, "gone", "list")
    with behind.proxied(folder, x_remote_user="gone") as gone, host.client() as admin:
        ok(gone.get(WIDGETS))
        ok(admin.send("DELETE", binding))
        until(lambda: gone.get(WIDGETS).status_code == 403)


def test_a_right_that_is_given_counts_shortly_after(
    host: ServerProcess, behind: Behind, folder: Path
) -> None:
    with behind.proxied(folder, x_remote_user="newcomer") as newcomer:
        refused_text(newcomer.get(WIDGETS))
        grant(host, "newcomer", "list")
        until(lambda: newcomer.get(WIDGETS).status_code == 200)


def test_applying_what_does_not_exist_needs_the_right_to_create(
    host: ServerProcess, behind: Behind, folder: Path
) -> None:
    grant(host, "patcher", "patch")
    with behind.proxied(folder, x_remote_user="patcher") as patcher:
        reply = patcher.send("PATCH", f"{WIDGETS}/applied?fieldManager=m", widget("applied"), **APPLY)
        assert 'User "patcher" cannot create resource "widgets"' in refused_text(reply)
    with behind.proxied(folder) as jane:
        ok(jane.send("PATCH", f"{WIDGETS}/applied?fieldManager=m", widget("applied"), **APPLY), 201)
    with behind.proxied(folder, x_remote_user="patcher") as patcher:
        changed = widget("applied", spec={"a": "1"})
        ok(patcher.send("PATCH", f"{WIDGETS}/applied?fieldManager=m", changed, **APPLY))


def test_a_list_of_one_object_needs_the_right_to_that_one_only(
    host: ServerProcess, behind: Behind, folder: Path
) -> None:
    rule = {
        "apiGroups": ["example.com"],
        "resources": ["widgets"],
        "resourceNames": ["one"],
        "verbs": ["list"],
    }
    inside = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    with host.client() as admin:
        ok(admin.send("POST", f"{inside}/roles", {"metadata": {"name": "one"}, "rules": [rule]}), 201)
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "one"}
        body = {"metadata": {"name": "one"}, "roleRef": reference}
        subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "narrow"}
        ok(admin.send("POST", f"{inside}/rolebindings", body | {"subjects": [subject]}), 201)
    with behind.proxied(folder, x_remote_user="narrow") as narrow:
        ok(narrow.get(WIDGETS, fieldSelector="metadata.name=one"))
        refused_text(narrow.get(WIDGETS, fieldSelector="metadata.name=two"))
        refused_text(narrow.get(WIDGETS))


def test_acting_as_somebody_else_is_asked_for(host: ServerProcess, behind: Behind, folder: Path) -> None:
    with behind.proxied(folder, x_remote_user="bob", impersonate_user="jane") as bob:
        assert 'User "bob" cannot impersonate resource "users"' in refused_text(bob.get(WIDGETS))
    with behind.proxied(
        folder, x_remote_user="root", x_remote_group="system:masters", impersonate_user="bob"
    ) as root:
        assert 'User "bob" cannot list' in refused_text(root.get(WIDGETS))


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_health_is_told_to_everybody(path: str, behind: Behind, folder: Path) -> None:
    with behind.client(None, folder) as nobody:
        assert nobody.get(path).text == "ok"
        assert nobody.get("/metrics").status_code == 403


@contextmanager
def own_host(tmp_path: Path) -> Iterator[tuple[ServerProcess, Behind]]:
    """A host that a test may harm, and a server behind it."""
    data = tmp_path / "host"
    with ServerProcess(data, options=("--controllers", "none")) as host:
        grant(host, "jane", "list", "create")
        proxies = Authority()
        options = ("--requestheader-client-ca-file", str(proxies.write(tmp_path)))
        quickly = ("--set", "delegation_timeout_s=1")
        with serve_behind(host, tmp_path, *options, *quickly) as server:
            yield host, Behind(server, proxies.issue("any"))


def test_while_the_host_is_down_what_it_has_said_counts_and_no_more(tmp_path: Path) -> None:
    with own_host(tmp_path) as (host, behind), behind.proxied(tmp_path) as jane:
        ok(jane.get(WIDGETS))
        host.kill()
        ok(jane.get(WIDGETS))
        reply = jane.send("POST", WIDGETS, widget("a"))
        assert (reply.status_code, reply.headers["content-type"]) == (500, "text/plain; charset=utf-8")
        target = f"{host.url}/apis/authorization.k8s.io/v1/subjectaccessreviews?timeout=1s"
        why = f'Post "{target}": dial tcp 127.0.0.1:{host.port}: connect: connection refused'
        assert reply.text == f'Internal Server Error: "{WIDGETS}": {why}\n'
        with behind.client(None, tmp_path, authorization="Bearer whose") as unknown:
            assert unknown.get(WIDGETS).status_code == 401
        with behind.server.client() as admin:
            ok(admin.get(WIDGETS))
        host.restart()
        ok(jane.send("POST", WIDGETS, widget("a")), 201)


def test_a_host_that_stands_still_holds_nobody_up_for_long(tmp_path: Path) -> None:
    with own_host(tmp_path) as (host, behind), behind.proxied(tmp_path) as jane:
        os.kill(host.pid, signal.SIGSTOP)
        try:
            reply = jane.get(WIDGETS)
            assert reply.status_code == 500
            assert "context deadline exceeded" in reply.text
            with behind.server.client() as admin:
                ok(admin.get(WIDGETS))
        finally:
            os.kill(host.pid, signal.SIGCONT)
        ok(jane.get(WIDGETS))
