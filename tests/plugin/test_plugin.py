"""The fixture `kinepy_server`, for people who test operators and API clients."""

import json
import subprocess
import sys
import time
from pathlib import Path

import httpx
import yaml

from kinepy_server.background import BackgroundServer
from tests.processes import configmap, configmaps

NAMESPACES = "/api/v1/namespaces"


def create(server: BackgroundServer, name: str) -> None:
    """Create a ConfigMap."""
    httpx.post(server.url + configmaps(), json=configmap(name), trust_env=False).raise_for_status()


def names(server: BackgroundServer, path: str) -> list[str]:
    """The names of a collection."""
    listed = httpx.get(server.url + path, trust_env=False).raise_for_status().json()
    return [item["metadata"]["name"] for item in listed["items"]]


def test_it_serves_plain_http_to_everybody(kinepy_server: BackgroundServer) -> None:
    assert kinepy_server.url.startswith("http://127.0.0.1:")
    assert "default" in names(kinepy_server, NAMESPACES)


def test_its_kubeconfig_names_it(kinepy_server: BackgroundServer) -> None:
    config = yaml.safe_load(Path(kinepy_server.kubeconfig).read_text())
    assert config["clusters"][0]["cluster"]["server"] == kinepy_server.url


def test_reset_leaves_the_bootstrap_objects_only(kinepy_server: BackgroundServer) -> None:
    create(kinepy_server, "reset")
    httpx.post(
        kinepy_server.url + NAMESPACES, json={"metadata": {"name": "reset"}}, trust_env=False
    ).raise_for_status()
    kinepy_server.reset()
    assert names(kinepy_server, configmaps()) == []
    assert names(kinepy_server, NAMESPACES) == ["default", "kube-node-lease", "kube-public", "kube-system"]


def test_reset_takes_milliseconds(kinepy_server: BackgroundServer) -> None:
    took = []
    for _ in range(3):
        for number in range(20):
            create(kinepy_server, f"cm-{number}")
        started = time.monotonic()
        kinepy_server.reset()
        took.append(time.monotonic() - started)
    assert min(took) < 0.5


def test_open_watches_see_a_reset_and_stay_open(kinepy_server: BackgroundServer) -> None:
    create(kinepy_server, "watched")
    query = {"watch": "true", "resourceVersion": "0"}
    with httpx.stream("GET", kinepy_server.url + configmaps(), params=query, trust_env=False) as stream:
        events = map(json.loads, stream.iter_lines())
        assert next(events)["type"] == "ADDED"
        kinepy_server.reset()
        deleted = next(events)
        assert (deleted["type"], deleted["object"]["metadata"]["name"]) == ("DELETED", "watched")
        create(kinepy_server, "afterwards")
        assert next(events)["object"]["metadata"]["name"] == "afterwards"


def test_a_test_run_that_does_not_use_it_imports_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text(
        "import sys\n"
        "def test_other():\n"
        "    loaded = [n for n in sys.modules if n.split('.')[0] in ('kinepy', 'uvicorn', 'sqlalchemy')]\n"
        "    assert 'kinepy_server.pytest_plugin' in sys.modules\n"
        "    assert not loaded\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stdout


def test_it_starts_in_less_than_a_second_of_processor_time(tmp_path: Path) -> None:
    # Processor time, so that a busy machine cannot fail the promise; it counts the imports too.
    script = (
        "import pathlib, sys, time\n"
        "from kinepy_server.background import BackgroundServer\n"
        "server = BackgroundServer(pathlib.Path(sys.argv[1])); server.start()\n"
        "print(time.process_time()); server.stop()\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    best_of_three = min(
        float(subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout)
        for _ in range(3)
    )
    assert best_of_three < 1
