"""helm: a chart is installed, upgraded, rolled back, and uninstalled."""

import json
from pathlib import Path

import pytest

from tests.manifests.kubectl import Program
from tests.manifests.test_shop import SHOP

pytestmark = [pytest.mark.helm, pytest.mark.kubectl, pytest.mark.timeout(120)]


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    """The set as a chart, whose replicas are a value."""
    folder = tmp_path / "shop"
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: shop\nversion: 1.0.0\n")
    (folder / "values.yaml").write_text("replicas: 2\n")
    text = SHOP.read_text().replace("replicas: 2", "replicas: {{ .Values.replicas }}")
    (folder / "templates" / "shop.yaml").write_text(text)
    return folder


def test_a_chart_is_installed_upgraded_rolled_back_and_uninstalled(
    helm: Program, kubectl: Program, chart: Path
) -> None:
    where = ("-n", "by-helm")
    replicas = ("get", "deployment", "web", *where, "-o", "jsonpath={.spec.replicas}")
    assert "STATUS: deployed" in helm("install", "shop", str(chart), *where, "--create-namespace")
    assert kubectl(*replicas) == "2"
    helm("upgrade", "shop", str(chart), *where, "--set", "replicas=5")
    assert kubectl(*replicas) == "5"
    assert "Rollback was a success" in helm("rollback", "shop", "1", *where)
    assert kubectl(*replicas) == "2"
    history = json.loads(helm("history", "shop", *where, "-o", "json"))
    assert [entry["status"] for entry in history] == ["superseded", "superseded", "deployed"]
    assert helm("uninstall", "shop", *where, "--wait") == 'release "shop" uninstalled\n'
    assert (
        kubectl(
            "get", "deployments,services,configmaps", *where, "-l", "app.kubernetes.io/part-of", "-o", "name"
        )
        == ""
    )
