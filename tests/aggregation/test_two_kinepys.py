"""Two hosts on one database, with another kinepy behind both: any of them serves what it has, kubectl sees no seam."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.acceptance.test_kubectl import Kubectl
from tests.aggregated.servers import WIDGETS, behind_options, write_definitions
from tests.aggregated.test_behind_kinepy import is_available
from tests.backends import SHARED_BACKENDS, Backend, DatabaseMaker
from tests.custom.definitions import widget
from tests.patience import until
from tests.processes import ServerProcess, ok, run_kinepy

SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
OBJECT = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"a": "1"}}


@dataclass(frozen=True)
class Servers:
    """Two hosts that share database and folder, and the server behind them."""

    first: ServerProcess
    second: ServerProcess
    behind: ServerProcess


@pytest.fixture(params=SHARED_BACKENDS, ids=lambda backend: backend.name)
def servers(request: pytest.FixtureRequest, databases: DatabaseMaker, tmp_path: Path) -> Iterator[Servers]:
    """All of them; only the first host was told of the server behind."""
    kind: Backend = request.param
    url, folder = databases.fresh_url(kind), tmp_path / "hosts"
    first, second = ServerProcess(folder, database=url), ServerProcess(folder, database=url)
    definitions = write_definitions(tmp_path)
    with first, second:
        options = behind_options(second, definitions)
        behind = ServerProcess(tmp_path / "behind", database="sqlite:///:memory:", options=options)
        told = ("--service", "default/kinepy", "--port", str(behind.port))
        printed = run_kinepy(
            "apiservice", "--data", str(behind.data), "--definitions", str(definitions), *told
        )
        with behind, first.client() as admin:
            spec = {"type": "ExternalName", "externalName": "localhost"}
            body = {"metadata": {"name": "kinepy"}, "spec": spec}
            ok(admin.send("POST", "/api/v1/namespaces/default/services", body), 201)
            for one in yaml.safe_load_all(printed.stdout):
                ok(admin.send("POST", SERVICES, one), 201)
            until(lambda: all(is_available(admin, version) for version in ("v1", "v2")))
            yield Servers(first, second, behind)


def test_every_host_proxies_and_goes_on_after_a_restart(servers: Servers) -> None:
    with servers.first.client() as one:
        ok(one.send("POST", WIDGETS, widget("w", spec={"a": "1"})), 201)
    with servers.second.client() as other:
        until(lambda: other.get(WIDGETS).status_code == 200)
        assert ok(other.get(f"{WIDGETS}/w"))["spec"] == {"a": "1"}
    servers.first.kill()
    servers.second.kill()
    servers.second.restart()
    with servers.second.client() as other:
        until(lambda: other.get(WIDGETS).status_code == 200)
        assert ok(other.get(f"{WIDGETS}/w"))["spec"] == {"a": "1"}
        servers.behind.kill()
        until(lambda: not is_available(other, "v1"))
        assert other.get(WIDGETS).text == "service unavailable\n"
        servers.behind.restart()
        until(lambda: other.get(WIDGETS).status_code == 200)


@pytest.mark.kubectl
def test_kubectl_sees_no_seam(servers: Servers, tmp_path: Path) -> None:
    kubectl = Kubectl(servers.second, tmp_path)
    until(lambda: "widgets" in kubectl("api-resources", "--cached=false", "-o", "name"))
    file = tmp_path / "widget.json"
    file.write_text(json.dumps(OBJECT))
    assert kubectl("apply", "-f", str(file)) == "widget.example.com/w created\n"
    assert kubectl("apply", "-f", str(file)) == "widget.example.com/w unchanged\n"
    assert kubectl("get", "widgets").splitlines()[0].split() == ["NAME", "AGE"]
    with kubectl.following("get", "widgets", "w", "-w", "-o", 'jsonpath={.spec.a}{"\\n"}') as lines:
        assert next(lines) == "1"
        kubectl("patch", "widget", "w", "--type=merge", "-p", '{"spec":{"a":"2"}}')
        assert next(lines) == "2"
    kubectl("apply", "--server-side", "--force-conflicts", "-f", str(file))
    assert kubectl("get", "widget", "w", "-o", "jsonpath={.spec.a}") == "1"
    kubectl("label", "widget", "w", "x=y")
    assert kubectl("get", "widgets.v2.example.com", "-l", "x=y", "-o", "name") == "widget.example.com/w\n"
    assert "True" in kubectl("get", "apiservice", "v1.example.com")
    assert "default/kinepy" in kubectl("get", "apiservices")
    kubectl("delete", "widget", "w", "--wait")
    assert "NotFound" in kubectl.fails("get", "widget", "w")
