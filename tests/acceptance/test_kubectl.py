"""The walk of the README with the real kubectl, against a server in its safe default."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pytest

from tests.acceptance.servers import STALE, compact
from tests.processes import Json, ServerProcess

pytestmark = pytest.mark.kubectl
ROOT_CA = "kube-root-ca.crt"
JSONPATH = 'jsonpath={.data.v}{"\\n"}'


class Kubectl:
    """kubectl with the server's kubeconfig and a cache of its own."""

    def __init__(self, server: ServerProcess, home: Path) -> None:
        self.server, self.home = server, home
        self.environment = {
            "HOME": str(home),
            "KUBECONFIG": str(server.kubeconfig),
            "PATH": os.environ["PATH"],
        }

    def run(
        self, *arguments: str, stdin: str = "", timeout_s: float = 30
    ) -> subprocess.CompletedProcess[str]:
        """One command to its end, whatever its exit code."""
        return subprocess.run(
            ["kubectl", *arguments],
            capture_output=True,
            text=True,
            input=stdin,
            env=self.environment,
            timeout=timeout_s,
            check=False,
        )

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        """One command that must succeed; returns what it prints."""
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout

    def fails(self, *arguments: str, stdin: str = "") -> str:
        """One command that must fail; returns its error text."""
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode != 0, (arguments, done.stdout)
        return done.stderr.strip()

    def configmap(self, name: str) -> Json:
        """The ConfigMap as it stands."""
        return json.loads(self("get", "configmap", name, "-o", "json"))

    @contextmanager
    def following(self, *arguments: str) -> Iterator[Iterator[str]]:
        """A command that goes on; iterating gives its lines."""
        process = subprocess.Popen(
            ["kubectl", *arguments], stdout=subprocess.PIPE, text=True, env=self.environment
        )
        assert process.stdout is not None
        try:
            yield (line.rstrip("\n") for line in process.stdout)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


@pytest.fixture
def kubectl(default_server: ServerProcess, tmp_path: Path) -> Kubectl:
    return Kubectl(default_server, tmp_path)


def test_kubectl_shows_the_first_namespaces(kubectl: Kubectl) -> None:
    lines = kubectl("get", "ns").splitlines()
    assert lines[0].split() == ["NAME", "STATUS", "AGE"]
    expected = ["default", "kube-node-lease", "kube-public", "kube-system"]
    assert [line.split()[0] for line in lines[1:] if line.split()[0] in expected] == expected


def test_the_first_replace_wins_and_the_second_gets_the_conflict_text(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "cm1", "--from-literal=v=0")
    mine, theirs = kubectl.configmap("cm1"), kubectl.configmap("cm1")
    mine["data"]["v"], theirs["data"]["v"] = "mine", "theirs"
    assert kubectl("replace", "-f", "-", stdin=json.dumps(mine)) == "configmap/cm1 replaced\n"
    error = kubectl.fails("replace", "-f", "-", stdin=json.dumps(theirs))
    assert error == f'Error from server (Conflict): error when replacing "STDIN": {STALE.format("cm1")}'
    assert kubectl.configmap("cm1")["data"] == {"v": "mine"}


def test_get_w_shows_every_change(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "watched", "--from-literal=v=0")
    with kubectl.following("get", "configmap", "watched", "-w", "-o", JSONPATH) as lines:
        assert next(lines) == "0"
        for i in range(1, 6):
            kubectl(
                "patch", "configmap", "watched", "--type=merge", "-p", json.dumps({"data": {"v": str(i)}})
            )
        assert list(islice(lines, 5)) == ["1", "2", "3", "4", "5"]


def test_pages_stay_at_one_snapshot_and_history_ends_with_compaction(kubectl: Kubectl) -> None:
    kubectl("create", "namespace", "paged")
    kubectl("-n", "paged", "wait", "--for=create", f"configmap/{ROOT_CA}", "--timeout=20s")
    for i in range(5):
        kubectl("-n", "paged", "create", "configmap", f"c{i}")
    whole = kubectl("-n", "paged", "get", "configmaps", "--chunk-size=2", "-o", "name").split()
    assert whole == [*(f"configmap/c{i}" for i in range(5)), f"configmap/{ROOT_CA}"]
    raw = "/api/v1/namespaces/paged/configmaps"
    page = json.loads(kubectl("get", "--raw", f"{raw}?limit=2"))["metadata"]
    kubectl("-n", "paged", "delete", "configmap", "c3")
    rest = json.loads(kubectl("get", "--raw", f"{raw}?limit=500&continue={page['continue']}"))
    assert [item["metadata"]["name"] for item in rest["items"]] == ["c2", "c3", "c4", ROOT_CA]
    assert rest["metadata"]["resourceVersion"] == page["resourceVersion"]
    past = f"{raw}?resourceVersion={page['resourceVersion']}&resourceVersionMatch=Exact"
    assert '"name":"c3"' in kubectl("get", "--raw", past)
    compact(kubectl.server)
    assert kubectl.fails("get", "--raw", past) == (
        "Error from server (Expired): The resourceVersion for the provided list is too old."
    )


def test_apply_creates(kubectl: Kubectl) -> None:
    manifest = json.dumps(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"v": "1"}}
    )
    assert kubectl("apply", "-f", "-", stdin=manifest) == "configmap/applied created\n"
    assert kubectl("apply", "-f", "-", stdin=manifest) == "configmap/applied unchanged\n"


def test_label_annotate_patch_and_delete(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "changed", "--from-literal=v=0")
    assert kubectl("label", "configmap", "changed", "tier=gold") == "configmap/changed labeled\n"
    assert kubectl("annotate", "configmap", "changed", "note=yes") == "configmap/changed annotated\n"
    operation = '[{"op": "replace", "path": "/data/v", "value": "1"}]'
    assert kubectl("patch", "configmap", "changed", "--type=json", "-p", operation) == (
        "configmap/changed patched\n"
    )
    assert kubectl("get", "configmap", "-l", "tier=gold", "-o", "name") == "configmap/changed\n"
    assert kubectl("delete", "configmap", "changed") == 'configmap "changed" deleted\n'
    assert kubectl.fails("get", "configmap", "changed") == (
        'Error from server (NotFound): configmaps "changed" not found'
    )


def test_kubectl_learns_what_the_server_has(kubectl: Kubectl) -> None:
    listed = kubectl("api-resources", "--no-headers").splitlines()
    assert ["leases", "coordination.k8s.io/v1", "true", "Lease"] in [line.split() for line in listed]
    assert "FIELD: data <map[string]string>" in kubectl("explain", "configmap.data")
    version = json.loads(kubectl("version", "-o", "json"))["serverVersion"]
    assert version["gitVersion"].startswith("v1.36.3+kinepy.")


def test_wait_replace_by_force_and_describe(kubectl: Kubectl) -> None:
    manifest = json.dumps(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "forced"}, "data": {"v": "1"}}
    )
    kubectl("create", "-f", "-", stdin=manifest)
    assert "condition met" in kubectl(
        "wait", "configmap/forced", "--for=jsonpath={.data.v}=1", "--timeout=10s"
    )
    before = kubectl.configmap("forced")["metadata"]["uid"]
    kubectl("replace", "--force", "-f", "-", stdin=manifest)
    assert kubectl.configmap("forced")["metadata"]["uid"] != before
    assert "Data\n====\nv:\n----\n1" in kubectl("describe", "configmap", "forced")


def test_create_secret_and_serviceaccount(kubectl: Kubectl) -> None:
    kubectl("create", "secret", "generic", "s1", "--from-literal=password=pässword")
    kubectl("create", "serviceaccount", "robot")
    columns = kubectl("get", "secret", "s1", "--no-headers").split()
    assert columns[:3] == ["s1", "Opaque", "1"]
    assert json.loads(kubectl("get", "secret", "s1", "-o", "json"))["data"] == {"password": "cMOkc3N3b3Jk"}


def test_a_namespace_is_deleted_with_its_contents(kubectl: Kubectl) -> None:
    kubectl("create", "namespace", "shortlived")
    kubectl("-n", "shortlived", "create", "configmap", "inside")
    assert kubectl("delete", "namespace", "shortlived") == 'namespace "shortlived" deleted\n'
    assert kubectl.fails("get", "namespace", "shortlived") == (
        'Error from server (NotFound): namespaces "shortlived" not found'
    )


def test_a_watch_by_kubectl_goes_on_after_a_restart_of_the_server(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "steady", "--from-literal=v=0")
    kubectl.server.stop()
    kubectl.server.restart()
    assert kubectl.configmap("steady")["data"] == {"v": "0"}


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a07_kubectl_gives_up_a_future_revision_after_its_own_retries(kubectl: Kubectl) -> None:
    path = "/api/v1/namespaces/default/configmaps?resourceVersion=99999999&resourceVersionMatch=Exact"
    done = kubectl.run("get", "--raw", path, timeout_s=100)
    assert done.stderr.startswith(
        "Error from server (Timeout): Timeout: Too large resource version: 99999999"
    )
