"""What people do with custom resources by kubectl, against a server in its safe default."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.custom.definitions import definition, version
from tests.manifests.kubectl import Program
from tests.processes import ServerProcess

pytestmark = pytest.mark.kubectl
GROUP = "shop.example.com"
TEXT = {"type": "string"}
SCHEMA = {
    "type": "object",
    "description": "A Till takes money.",
    "properties": {
        "spec": {
            "type": "object",
            "description": "What is wanted of a till.",
            "required": ["owner"],
            "properties": {
                "owner": {**TEXT, "description": "Who empties it."},
                "replicas": {"type": "integer", "description": "How many drawers.", "default": 1},
                "opened": {**TEXT, "format": "date-time"},
                "ratio": {"type": "number"},
                "locked": {"type": "boolean"},
            },
        },
        "status": {
            "type": "object",
            "properties": {
                "replicas": {"type": "integer"},
                "selector": TEXT,
                "conditions": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"type": TEXT, "status": TEXT}},
                },
            },
        },
    },
}
SCALE = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}
COLUMNS = [
    {"name": "Owner", "type": "string", "jsonPath": ".spec.owner"},
    {"name": "Drawers", "type": "integer", "jsonPath": ".spec.replicas"},
    {"name": "Ratio", "type": "number", "jsonPath": ".spec.ratio", "priority": 1},
    {"name": "Locked", "type": "boolean", "jsonPath": ".spec.locked"},
    {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
    {"name": "Open", "type": "date", "jsonPath": ".spec.opened"},
]


def till(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Till", "metadata": {"name": name}, "spec": spec}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server of its own."""
    with ServerProcess(tmp_path_factory.mktemp("custom-kubectl") / "data") as running:
        yield running


@pytest.fixture
def kubectl(shop: ServerProcess, tmp_path: Path) -> Iterator[Program]:
    """kubectl where Tills are defined; they go when the test ends, and the next one defines them at once."""
    program = Program("kubectl", shop.kubeconfig, tmp_path)
    made = definition(
        version(
            schema=SCHEMA,
            subresources={"status": {}, "scale": SCALE},
            additionalPrinterColumns=COLUMNS,
            selectableFields=[{"jsonPath": ".spec.owner"}],
        ),
        plural="tills",
        kind="Till",
        group=GROUP,
        names={"plural": "tills", "kind": "Till", "shortNames": ["tl"], "categories": ["all", "shop"]},
    )
    program("create", "-f", "-", stdin=json.dumps(made))
    program("wait", "--for=condition=Established", f"crd/tills.{GROUP}", "--timeout=20s")
    yield program
    program("delete", "crd", f"tills.{GROUP}")


def test_columns_are_printed_by_their_types(kubectl: Program) -> None:
    made = till("front", owner="ann", replicas=2, ratio=0.5, locked=False, opened="2001-01-01T00:00:00Z")
    kubectl("apply", "-f", "-", stdin=json.dumps(made))
    kubectl("apply", "-f", "-", stdin=json.dumps(till("back", owner="bob")))
    ready = {
        "status": {"conditions": [{"type": "Other", "status": "Maybe"}, {"type": "Ready", "status": "True"}]}
    }
    kubectl("patch", "till", "front", "--subresource=status", "--type=merge", "-p", json.dumps(ready))
    head, back, front = kubectl("get", "tl").splitlines()
    assert head.split() == ["NAME", "OWNER", "DRAWERS", "LOCKED", "READY", "OPEN"]
    assert back.split() == ["back", "bob", "1"]
    assert front.split()[:5] == ["front", "ann", "2", "false", "True"]
    assert front.split()[5].endswith("y")
    wide = kubectl("get", "tills.v1.shop.example.com", "front", "-o", "wide").splitlines()
    assert wide[0].split() == ["NAME", "OWNER", "DRAWERS", "RATIO", "LOCKED", "READY", "OPEN"]
    assert wide[1].split()[3] == "0.5"


def test_explain_tells_what_the_schema_says(kubectl: Program) -> None:
    told = kubectl("explain", "till.spec")
    for text in (
        "What is wanted of a till.",
        "owner",
        "<string> -required-",
        "Who empties it.",
        "How many drawers.",
    ):
        assert text in told
    assert "A Till takes money." in kubectl("explain", "tills")
    assert "conditions\t<[]Object>" in kubectl("explain", "tills", "--recursive")


def test_categories_and_short_names_find_it(kubectl: Program) -> None:
    kubectl("create", "-f", "-", stdin=json.dumps(till("front", owner="ann")))
    for asked in ("all", "shop", "tl", "Till"):
        assert f"till.{GROUP}/front" in kubectl("get", asked, "-o", "name")


def test_it_is_scaled_and_found_by_its_selector(kubectl: Program) -> None:
    kubectl("create", "-f", "-", stdin=json.dumps(till("front", owner="ann")))
    kubectl("scale", "till", "front", "--replicas=4", "--current-replicas=1")
    assert kubectl("get", "till", "front", "-o", "jsonpath={.spec.replicas}") == "4"
    status = {"status": {"replicas": 3, "selector": "app=till"}}
    kubectl("patch", "till", "front", "--subresource=status", "--type=merge", "-p", json.dumps(status))
    scale = json.loads(kubectl("get", "--raw", f"/apis/{GROUP}/v1/namespaces/default/tills/front/scale"))
    assert (scale["spec"], scale["status"]) == ({"replicas": 4}, {"replicas": 3, "selector": "app=till"})
    refused = kubectl.run("scale", "till", "front", "--replicas=1", "--current-replicas=9")
    assert (refused.returncode, "Expected replicas to be 9, was 4" in refused.stderr) == (1, True)


def test_selectable_fields_are_selected_by(kubectl: Program) -> None:
    for name, owner in (("front", "ann"), ("back", "bob")):
        kubectl("create", "-f", "-", stdin=json.dumps(till(name, owner=owner)))
    assert kubectl("get", "tills", "--field-selector=spec.owner=bob", "-o", "name") == f"till.{GROUP}/back\n"


def test_what_is_wrong_is_told(kubectl: Program) -> None:
    wrong = kubectl.run("create", "-f", "-", stdin=json.dumps(till("front", owner="ann", replicas="two")))
    assert wrong.returncode == 1
    assert "spec.replicas in body must be of type integer" in wrong.stderr
    unknown = kubectl.run("apply", "-f", "-", stdin=json.dumps(till("front", owner="ann", ownr="x")))
    assert (unknown.returncode, 'unknown field "spec.ownr"' in unknown.stderr) == (1, True)
    missing = kubectl.run("create", "-f", "-", stdin=json.dumps(till("front")))
    assert (missing.returncode, "spec.owner: Required value" in missing.stderr) == (1, True)
