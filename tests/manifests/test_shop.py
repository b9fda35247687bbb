"""`kubectl apply` of a real-sized set: again, changed, on the server's side, pruned, deleted."""

from pathlib import Path

import pytest

from tests.manifests.kubectl import Program

pytestmark = [pytest.mark.kubectl, pytest.mark.timeout(180)]
SHOP = Path(__file__).with_name("shop.yaml")
MARK = "app.kubernetes.io/part-of=shop"
OBJECTS = SHOP.read_text().count("\nkind: ")
SERVER = "--server-side"
VERSIONS = "jsonpath={.items[*].metadata.resourceVersion}"

# For these kubectl itself sends a patch every time, which changes nothing: a selector that is replaced whole, and
# templates of claims that are compared without their defaults.
SENT_AGAIN = {"poddisruptionbudget.policy/web": "configured", "statefulset.apps/queue": "configured"}


def said(output: str) -> dict[str, str]:
    """What kubectl says of each object."""
    return dict(line.split(" ", 1) for line in output.splitlines())


def verbs(output: str) -> set[str]:
    return set(said(output).values())


@pytest.fixture
def namespace(request: pytest.FixtureRequest, kubectl: Program) -> str:
    name = request.node.name.replace("_", "-")[:50]
    kubectl("create", "namespace", name)
    return str(name)


def changed(folder: Path) -> Path:
    """The set as somebody has edited it: a field, a list's element, a removed key, a new limit."""
    text = SHOP.read_text()
    for old, new in (
        ("replicas: 2", "replicas: 3"),
        (
            "name: exporter\n          image: registry.example/exporter:2",
            "name: exporter\n          image: e:3",
        ),
        ("  LOG_LEVEL: info\n", "  LOG_LEVEL: debug\n  NEW: key\n"),
        ("maxReplicas: 10", "maxReplicas: 20"),
        ("    - {name: metrics, port: 9090}\n", ""),
        ('schedule: "15 3 * * *"', 'schedule: "30 3 * * *"'),
    ):
        assert old in text
        text = text.replace(old, new)
    path = folder / "changed.yaml"
    path.write_text(text)
    return path


CHANGED = {
    "configmap/web-config", "cronjob.batch/invoices", "deployment.apps/web",
    "horizontalpodautoscaler.autoscaling/web", "service/web",
}  # fmt: skip


def test_a_set_is_created_unchanged_edited_and_deleted(
    kubectl: Program, namespace: str, tmp_path: Path
) -> None:
    apply = ("apply", "-n", namespace, "-f")
    created = said(kubectl(*apply, str(SHOP)))
    assert (len(created), set(created.values())) == (OBJECTS, {"created"})
    versions = ("get", "-n", namespace, "-f", str(SHOP), "-o", VERSIONS)
    before = kubectl(*versions)
    assert said(kubectl(*apply, str(SHOP))) == dict.fromkeys(created, "unchanged") | SENT_AGAIN
    assert kubectl(*versions) == before
    assert kubectl("diff", "-n", namespace, "-f", str(SHOP)) == ""
    edited = changed(tmp_path)
    difference = kubectl.run("diff", "-n", namespace, "-f", str(edited))
    assert (difference.returncode, difference.stderr) == (1, "")
    assert "-  replicas: 2\n+  replicas: 3\n" in difference.stdout
    told = said(kubectl(*apply, str(edited)))
    assert {name for name, verb in told.items() if verb == "configured"} == CHANGED | SENT_AGAIN.keys()
    assert said(kubectl(*apply, str(edited))) == dict.fromkeys(created, "unchanged") | SENT_AGAIN
    ports = kubectl("get", "service", "web", "-n", namespace, "-o", "jsonpath={.spec.ports[*].name}")
    assert ports == "http", "an element that was removed from the file is gone"
    deleted = kubectl("delete", "-n", namespace, "-f", str(edited), "--wait=true").splitlines()
    assert len(deleted) == OBJECTS
    assert kubectl.run("get", "-n", namespace, "-f", str(edited), "-o", "name").stdout == ""


def test_a_set_is_applied_on_the_servers_side(kubectl: Program, namespace: str, tmp_path: Path) -> None:
    apply = ("apply", SERVER, "-n", namespace, "-f")
    assert verbs(kubectl(*apply, str(SHOP))) == {"serverside-applied"}
    versions = ("get", "-n", namespace, "-f", str(SHOP), "-o", VERSIONS)
    before = kubectl(*versions)
    assert verbs(kubectl(*apply, str(SHOP))) == {"serverside-applied"}
    assert kubectl(*versions) == before
    assert kubectl("diff", SERVER, "-n", namespace, "-f", str(SHOP)) == ""
    edited = changed(tmp_path)
    kubectl(*apply, str(edited))
    assert kubectl("get", "deployment", "web", "-n", namespace, "-o", "jsonpath={.spec.replicas}") == "3"
    other = kubectl.run("apply", SERVER, "--field-manager=other", "-n", namespace, "-f", str(SHOP))
    assert other.returncode == 1
    assert 'conflict with "kubectl": .data.LOG_LEVEL' in other.stderr
    kubectl("delete", "-n", namespace, "-f", str(SHOP))


def test_what_was_applied_by_the_client_goes_on_on_the_servers_side(
    kubectl: Program, namespace: str, tmp_path: Path
) -> None:
    kubectl("apply", "-n", namespace, "-f", str(SHOP))
    # Lists that are taken as a whole conflict with their own defaults, as they do upstream.
    apply = ("apply", SERVER, "--force-conflicts", "-n", namespace, "-f", str(changed(tmp_path)))
    assert verbs(kubectl(*apply)) == {"serverside-applied"}
    ports = kubectl("get", "service", "web", "-n", namespace, "-o", "jsonpath={.spec.ports[*].name}")
    assert ports == "http"
    kubectl("delete", "-n", namespace, "-f", str(SHOP))


def test_what_is_no_longer_in_the_set_is_pruned(kubectl: Program, namespace: str, tmp_path: Path) -> None:
    pruned = ("--prune-allowlist=core/v1/ConfigMap", "--prune-allowlist=batch/v1/CronJob")
    apply = ("apply", "-n", namespace, "--prune", "-l", MARK, *pruned, "-f")
    kubectl(*apply, str(SHOP))
    parts = SHOP.read_text().split("\n---\n")
    fewer = tmp_path / "fewer.yaml"
    fewer.write_text(
        "\n---\n".join(part for part in parts if "invoices" not in part and "flags.json" not in part)
    )
    told = said(kubectl(*apply, str(fewer)))
    assert {name for name, verb in told.items() if verb == "pruned"} == {
        "configmap/feature-flags",
        "cronjob.batch/invoices",
    }
    kubectl("delete", "-n", namespace, "-f", str(fewer))


def test_the_set_is_shown_described_and_explained(kubectl: Program, namespace: str) -> None:
    kubectl("apply", "-n", namespace, "-f", str(SHOP))
    shown = kubectl("get", "deploy,svc,ing,hpa,pdb,cronjob,sts,pvc", "-n", namespace)
    for row in ("deployment.apps/web   0/2", "cronjob.batch/invoices   15 3 * * *   Europe/Berlin"):
        assert row in shown, shown
    assert "shop.example" in kubectl("describe", "ingress", "web", "-n", namespace)
    assert "FIELD: schedule <string>" in kubectl("explain", "cronjob.spec.schedule")
    kubectl("scale", "deployment", "web", "--replicas=7", "-n", namespace)
    kubectl("set", "image", "deployment/web", "web=w:2", "-n", namespace)
    kubectl("rollout", "restart", "deployment/web", "-n", namespace)
    spec = kubectl(
        "get", "deploy", "web", "-n", namespace, "-o", "jsonpath={.spec.replicas} {..containers[0].image}"
    )
    assert spec == "7 w:2"
    kubectl("delete", "-n", namespace, "-f", str(SHOP))


def test_a_file_with_a_mistake_is_refused_whole(kubectl: Program, namespace: str, tmp_path: Path) -> None:
    path = tmp_path / "mistaken.yaml"
    path.write_text(SHOP.read_text().replace("containerPort: 8080", "containerPrt: 8080"))
    done = kubectl.run("apply", "-n", namespace, "-f", str(path), "--dry-run=server")
    assert done.returncode == 1
    assert 'unknown field "spec.template.spec.containers[0].ports[0].containerPrt"' in done.stderr
