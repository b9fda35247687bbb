"""Definitions and objects written by others, as their Go modules ship them, are served as they are meant."""

import asyncio
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.custom.definitions import DEFINITIONS, Crds, conditions
from tests.http.writing import Api

DOWNLOAD_S = 300
YAML = "application/yaml"

pytestmark = [pytest.mark.go, pytest.mark.timeout(DOWNLOAD_S)]


class Project(NamedTuple):
    """Where a project's module keeps its definitions, and objects of them."""

    module: str
    definitions: tuple[str, ...]
    samples: tuple[str, ...]
    at_least: int


PROJECTS = {
    "gateway-api": Project(
        "sigs.k8s.io/gateway-api@v1.6.3",
        ("config/crd/standard/*.yaml", "config/crd/experimental/*.x-k8s.io_*.yaml"),
        ("examples/**/*.yaml", "hack/invalid-examples/standard/**/*.yaml"),
        100,
    ),
    "cert-manager": Project(
        "github.com/cert-manager/cert-manager@v1.19.1", ("deploy/crds/*.yaml",), ("test/fixtures/*.yaml",), 3
    ),
    "prometheus-operator": Project(
        "github.com/prometheus-operator/prometheus-operator@v0.78.2",
        ("example/prometheus-operator-crd/*.yaml",),
        tuple(f"example/{part}/**/*.yaml" for part in ("rbac", "shards", "storage", "thanos", "user-guides")),
        15,
    ),
    "crossplane": Project(
        "github.com/crossplane/crossplane/v2@v2.1.0",
        ("cluster/crds/*.yaml",),
        tuple(f"test/e2e/manifests/apiextensions/{part}/**/*.yaml" for part in ("composition", "mrd", "xrd")),
        50,
    ),
}


@pytest.fixture(scope="session")
def modules(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders of the projects' modules, kept in Go's own cache."""
    command = ["go", "mod", "download", "-json", *(project.module for project in PROJECTS.values())]
    # A folder of no module: nothing is asked of the versions but that they are these.
    folder = tmp_path_factory.mktemp("modules")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=DOWNLOAD_S)
    assert done.returncode == 0, done.stdout + done.stderr
    found = list(_documents(done.stdout))
    return {f"{one['Path']}@{one['Version']}": Path(one["Dir"]) for one in found}


def _documents(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder()
    while text := text.lstrip():
        value, end = decoder.raw_decode(text)
        yield value
        text = text[end:]


def files(folder: Path, patterns: tuple[str, ...]) -> list[Path]:
    return sorted({path for pattern in patterns for path in folder.glob(pattern)})


def objects(path: Path) -> Iterator[dict[str, Any]]:
    """What a file of samples holds, in whatever namespace."""
    for found in yaml.safe_load_all(path.read_text()):
        if isinstance(found, dict) and "kind" in found:
            found["metadata"].pop("namespace", None)
            yield found


async def define(api: Api, path: Path) -> dict[tuple[str, str], str]:
    """Send a file as it is; returns the addresses of objects by version and kind."""
    reply = await api.post(f"{DEFINITIONS}?fieldValidation=Strict", path.read_bytes(), content_type=YAML)
    if reply.body.get("kind") != "CustomResourceDefinition":
        assert "ValidatingAdmissionPolicy" in path.read_text(), (path.name, reply.content[:500])
        return {}
    assert reply.code == 201, (path.name, reply.content[:500])
    name, spec = reply.body["metadata"]["name"], reply.body["spec"]
    await Crds(api).wait_for(name, lambda got: "Established" in conditions(got))
    told = conditions(await api.get(f"{DEFINITIONS}/{name}"))
    assert (told["NamesAccepted"][0], told["Established"][0]) == ("True", "True")
    assert "NonStructuralSchema" not in told
    where = "" if spec["scope"] == "Cluster" else "/namespaces/default"
    versions = [f"{spec['group']}/{one['name']}" for one in spec["versions"] if one["served"]]
    kind, plural = spec["names"]["kind"], spec["names"]["plural"]
    return {(version, kind): f"/apis/{version}{where}/{plural}" for version in versions}


@pytest.mark.parametrize("name", PROJECTS)
async def test_the_definitions_are_accepted_and_the_samples_validate(
    api: Api, modules: dict[str, Path], name: str
) -> None:
    project = PROJECTS[name]
    folder = modules[project.module]
    addresses: dict[tuple[str, str], str] = {}
    for path in files(folder, project.definitions):
        addresses |= await define(api, path)
    for version in {version for version, _ in addresses}:
        assert (await api.get(f"/openapi/v3/apis/{version}")).code == 200
    samples, refused = 0, {}
    for path in files(folder, project.samples):
        for sample in objects(path):
            address = addresses.get((sample["apiVersion"], sample["kind"]))
            if address is None:
                continue
            samples += 1
            reply = await api.post(f"{address}?dryRun=All&fieldValidation=Strict", sample)
            if reply.code != 201:
                refused[path] = (reply.code, reply.content)
        await asyncio.sleep(0)
    assert samples >= project.at_least
    meant = {path for path in files(folder, project.samples) if "invalid" in str(path.relative_to(folder))}
    assert {path: refused[path] for path in refused if path not in meant} == {}
    assert {path for path in meant if path not in refused} == set()
