"""A whole: a host with all its controllers, and a server behind it that is found by the host's APIServices."""

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.aggregated.servers import WIDGETS, grant, names, write_definitions
from tests.custom.definitions import widget
from tests.patience import until
from tests.processes import Client, Json, ServerProcess, ok, run_kinepy

SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
NAMESPACES = "/api/v1/namespaces"


def account_kubeconfig(host: ServerProcess, folder: Path) -> Path:
    """What a Pod of the service account would be given; with no more rights than README says."""
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    account = {"kind": "ServiceAccount", "namespace": "sys", "name": "kinepy"}

    def bound(kind: str, name: str) -> Json:
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
        return {"metadata": {"name": f"kinepy-{name.partition(':')[2] or name}"}} | {
            "roleRef": reference,
            "subjects": [account],
        }

    with host.client() as admin:
        for path, body in (
            (NAMESPACES, {"metadata": {"name": "sys"}}),
            (f"{NAMESPACES}/sys/serviceaccounts", {"metadata": {"name": "kinepy"}}),
            (f"{rbac}/clusterrolebindings", bound("ClusterRole", "system:auth-delegator")),
            (
                f"{rbac}/namespaces/kube-system/rolebindings",
                bound("Role", "extension-apiserver-authentication-reader"),
            ),
            (
                f"{rbac}/clusterroles",
                {
                    "metadata": {"name": "namespaces"},
                    "rules": [
                        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]},
                        {
                            "apiGroups": ["admissionregistration.k8s.io"],
                            "resources": ["*"],
                            "verbs": ["get", "list", "watch"],
                        },
                    ],
                },
            ),
            (f"{rbac}/clusterrolebindings", bound("ClusterRole", "namespaces")),
        ):
            ok(admin.send("POST", path, body), 201)
        ask = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token = ok(admin.send("POST", f"{NAMESPACES}/sys/serviceaccounts/kinepy/token", ask), 201)["status"][
            "token"
        ]
    config = yaml.safe_load(host.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    file = folder / "account.kubeconfig"
    file.write_text(yaml.safe_dump(config))
    return file


@dataclass(frozen=True)
class Both:
    """A host and a server behind it."""

    host: ServerProcess
    server: ServerProcess


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """Both, as README says."""
    folder = tmp_path_factory.mktemp("both")
    definitions = write_definitions(folder)
    with ServerProcess(folder / "host", database="sqlite:///:memory:") as host:
        account = account_kubeconfig(host, folder)
        options = ("--aggregated", "--host-kubeconfig", str(account), "--definitions", str(definitions))
        quickly = ("--set", "delegation_cache_s=0.2")
        server = ServerProcess(folder / "data", database="sqlite:///:memory:", options=(*options, *quickly))
        told = ("--service", "sys/kinepy", "--port", str(server.port))
        printed = run_kinepy(
            "apiservice", "--data", str(server.data), "--definitions", str(definitions), *told
        )
        with server, host.client() as admin:
            service = {"type": "ExternalName", "externalName": "localhost"}
            body = {"metadata": {"name": "kinepy"}, "spec": service}
            ok(admin.send("POST", f"{NAMESPACES}/sys/services", body), 201)
            for one in yaml.safe_load_all(printed.stdout):
                ok(admin.send("POST", SERVICES, one), 201)
            until(lambda: all(is_available(admin, version) for version in ("v1", "v2")))
            yield Both(host, server)


def is_available(admin: Client, version: str) -> bool:
    """Whether the host says that it reaches a version."""
    conditions = ok(admin.get(f"{SERVICES}/{version}.example.com")).get("status", {})
    return any(
        one["type"] == "Available" and one["status"] == "True" for one in conditions.get("conditions", ())
    )


def test_clients_of_the_host_notice_nothing(both: Both) -> None:
    with both.host.client() as admin:
        made = ok(admin.send("POST", WIDGETS, widget("seen", spec={"a": "1"})), 201)
        with admin.watch(WIDGETS, resourceVersion=made["metadata"]["resourceVersion"]) as events:
            ok(admin.merge_patch(f"{WIDGETS}/seen", {"spec": {"a": "2"}}))
            assert next(events)["object"]["spec"] == {"a": "2"}
        ok(admin.send("DELETE", f"{WIDGETS}/seen"))
        assert ok(admin.get(f"{WIDGETS}/seen"), 404)["details"]["kind"] == "widgets"


def test_users_of_the_host_are_who_they_are_on_both_sides(both: Both) -> None:
    grant(both.host, "jane", "list", "create")
    with both.host.client() as admin:
        ok(admin.http.get(WIDGETS, headers={"Impersonate-User": "jane"}))
        refused = admin.http.get(WIDGETS, headers={"Impersonate-User": "bob"})
        made = admin.http.post(
            WIDGETS, json=widget("jane-s", spec={"a": "1"}), headers={"Impersonate-User": "jane"}
        )
        ok(made, 201)
    assert refused.status_code == 403


def test_a_namespace_that_goes_takes_its_objects_along(both: Both) -> None:
    here = WIDGETS.replace("default", "leaving")
    with both.host.client() as admin, both.server.client() as direct:
        ok(admin.send("POST", NAMESPACES, {"metadata": {"name": "leaving"}}), 201)
        for name in ("a", "b"):
            ok(admin.send("POST", here, widget(name)), 201)
        held = widget("held") | {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
        ok(admin.send("POST", here, held), 201)
        ok(admin.send("DELETE", f"{NAMESPACES}/leaving"))
        until(lambda: names(ok(direct.get(here))["items"]) == ["held"])
        until(lambda: "example.com/hold in 1 resource instances" in conditions_of(admin, "leaving"))
        assert "widgets.example.com has 1 resource instances" in conditions_of(admin, "leaving")
        ok(admin.merge_patch(f"{here}/held", {"metadata": {"finalizers": None}}))
        until(lambda: admin.get(f"{NAMESPACES}/leaving").status_code == 404)
        assert ok(direct.get(here))["items"] == []


def conditions_of(admin: Client, namespace: str) -> str:
    """What a namespace tells of its end."""
    status = admin.get(f"{NAMESPACES}/{namespace}").json().get("status", {})
    return " ".join(one["message"] for one in status.get("conditions", ()))


def test_a_namespace_stays_while_the_server_behind_is_away(both: Both) -> None:
    with both.host.client() as admin:
        ok(admin.send("POST", NAMESPACES, {"metadata": {"name": "waiting"}}), 201)
        ok(admin.send("POST", WIDGETS.replace("default", "waiting"), widget("a")), 201)
        both.server.kill()
        try:
            ok(admin.send("DELETE", f"{NAMESPACES}/waiting"))
            until(lambda: "Failed to delete all resource types" in conditions_of(admin, "waiting"))
        finally:
            both.server.restart()
        until(lambda: admin.get(f"{NAMESPACES}/waiting").status_code == 404)


@pytest.mark.kubectl
def test_kubectl_works_at_both_ends(both: Both) -> None:
    kubectl = shutil.which("kubectl")
    assert kubectl is not None

    def run(server: ServerProcess, *arguments: str) -> str:
        done = subprocess.run(
            [kubectl, "--kubeconfig", str(server.kubeconfig), f"--cache-dir={server.data}/cache", *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return done.stdout

    with both.host.client() as admin:
        until(lambda: is_available(admin, "v1"))
        ok(admin.send("POST", WIDGETS, widget("told")), 201)
    for server in (both.host, both.server):
        assert "widget.example.com/told" in run(server, "get", "widgets", "-o", "name")
        assert "widgets" in run(server, "api-resources", "--api-group=example.com", "-o", "name")
        assert "KIND:       Widget" in run(server, "explain", "widgets")
    assert "configmaps" not in run(both.server, "api-resources", "-o", "name")
