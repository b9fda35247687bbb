"""What a kube-apiserver kept in a kine is served here after `kinepy import`, as the objects that they are."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kinepy.transfer.problems import BadTransfer
from kinepy_server.wire.kine_values import stored_here
from kinepy_server.wire.protobuf import seal_object
from tests.backends import DURABLE_BACKENDS, Backend, DatabaseMaker
from tests.http.protobuf_writer import envelope, message
from tests.operations.test_kine import Row, kine_file
from tests.processes import ServerProcess, ok, run_kinepy
from tests.processes import message as refusal

UID = "0a0b0c0d-0000-4000-8000-000000000001"
OBJECTS: dict[str, dict[str, Any]] = {
    "/registry/configmaps/default/settings": {
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1", "b": "ü"}, "binaryData": {"c": "AP8="},
    },
    "/registry/secrets/default/door": {
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": {"key": "aHVudGVyMg=="},
    },
    "/registry/deployments/default/web": {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "web:1", "resources": {"limits": {"cpu": "500m"}}}]},
            },
        },
    },
    "/registry/events/default/web.1": {
        "apiVersion": "v1", "kind": "Event", "reason": "Made", "message": "m", "type": "Normal", "count": 3,
        "involvedObject": {"kind": "Deployment", "name": "web", "namespace": "default"},
    },
    "/registry/horizontalpodautoscalers/default/web": {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}},
    },
}  # fmt: skip
PATHS = {
    "/registry/configmaps/default/settings": "/api/v1/namespaces/default/configmaps/settings",
    "/registry/secrets/default/door": "/api/v1/namespaces/default/secrets/door",
    "/registry/deployments/default/web": "/apis/apps/v1/namespaces/default/deployments/web",
    "/registry/events/default/web.1": "/apis/events.k8s.io/v1/namespaces/default/events/web.1",
    "/registry/horizontalpodautoscalers/default/web": (
        "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers/web"
    ),
}
DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.example.com", "uid": UID, "creationTimestamp": "2026-01-02T03:04:05Z"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing"},
        "scope": "Namespaced",
        "conversion": {"strategy": "None"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                    }
                },
            }
        ],
    },
    "status": {
        "acceptedNames": {"kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing"},
        "conditions": [
            {"type": kind, "status": "True", "reason": "Yes", "lastTransitionTime": "2026-01-02T03:04:05Z"}
            for kind in ("NamesAccepted", "Established")
        ],
        "storedVersions": ["v1"],
    },
}  # fmt: skip
THING = (
    '{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"creationTimestamp":"2026-01-02T03:04:05Z",'
    f'"generation":1,"name":"one","namespace":"default","uid":"{UID}"}},"spec":{{"size":1.5,"big":9007199254740993}}}}\n'
)


def whole(key: str) -> dict[str, Any]:
    """An object as a kube-apiserver keeps it."""
    *_, namespace, name = key.split("/")
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": UID,
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "labels": {"app": "web"},
        "managedFields": [
            {"manager": "kubectl", "operation": "Update", "apiVersion": "v1", "time": "2026-01-02T03:04:05Z",
             "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:app": {}}}}},
        ],
    }  # fmt: skip
    return {"metadata": metadata, **OBJECTS[key]}


def in_protobuf(obj: dict[str, Any]) -> bytes:
    """Its bytes in a kine."""
    sealed = seal_object(obj)
    assert sealed is not None
    return sealed


def kine_rows() -> Iterator[Row]:
    values = {key: in_protobuf(whole(key)) for key in OBJECTS}
    values["/registry/apiextensions.k8s.io/customresourcedefinitions/things.example.com"] = in_protobuf(
        DEFINITION
    )
    values["/registry/example.com/things/default/one"] = THING.encode()
    values["/registry/health"] = b'{"health":"true"}'
    values["/registry/ranges/serviceips"] = envelope("v1", "RangeAllocation", b"\x0a\x00")
    for number, (key, value) in enumerate(values.items(), 1):
        yield number, key, 1, 0, 0, 0, 0, value, None


@pytest.fixture(scope="module", params=DURABLE_BACKENDS, ids=lambda backend: backend.name)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    """A server on what was imported from a kine."""
    backend: Backend = request.param
    folder = tmp_path_factory.mktemp("kine")
    databases = DatabaseMaker(folder, lambda: request.getfixturevalue("postgres"))
    kine_file(folder / "state.db", list(kine_rows()))
    url = databases.fresh_url(backend, migrated=False)
    done = run_kinepy("import", str(folder / "state.db"), "--database", url)
    assert (done.returncode, done.stderr) == (0, "")
    with ServerProcess(
        folder / "data", database=url, insecure=True, options=("--controllers", "none")
    ) as running:
        yield running
    databases.close()


@pytest.mark.parametrize("key", PATHS)
def test_an_object_is_read_with_its_revision(server: ServerProcess, key: str) -> None:
    with server.client() as client:
        found = ok(client.get(PATHS[key]))
    assert found["metadata"]["resourceVersion"] == str(list(OBJECTS).index(key) + 1)
    assert {**found["metadata"], "resourceVersion": ""} == {**whole(key)["metadata"], "resourceVersion": ""}


def test_built_in_objects_are_what_they_were(server: ServerProcess) -> None:
    with server.client() as client:
        settings = ok(client.get(PATHS["/registry/configmaps/default/settings"]))
        web = ok(client.get(PATHS["/registry/deployments/default/web"]))
        event = ok(client.get(PATHS["/registry/events/default/web.1"]))
        scaler = ok(client.get(PATHS["/registry/horizontalpodautoscalers/default/web"]))
    assert (settings["data"], settings["binaryData"]) == ({"a": "1", "b": "ü"}, {"c": "AP8="})
    assert web["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": "25%", "maxUnavailable": 1}
    assert web["spec"]["template"]["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "500m"}}
    assert (event["deprecatedCount"], event["regarding"]["name"], event["note"]) == (3, "web", "m")
    assert (scaler["spec"]["maxReplicas"], scaler["spec"]["scaleTargetRef"]["name"]) == (3, "web")


def test_custom_objects_are_what_they_were(server: ServerProcess) -> None:
    with server.client() as client:
        thing = ok(client.get("/apis/example.com/v1/namespaces/default/things/one"))
        changed = ok(
            client.merge_patch("/apis/example.com/v1/namespaces/default/things/one", {"spec": {"new": True}})
        )
    assert thing["spec"] == {"size": 1.5, "big": 9007199254740993}
    assert changed["spec"]["new"] is True


def test_objects_are_listed_selected_and_changed(server: ServerProcess) -> None:
    path = "/api/v1/namespaces/default/configmaps"
    with server.client() as client:
        listed = ok(client.get(path, labelSelector="app=web"))
        assert [item["metadata"]["name"] for item in listed["items"]] == ["settings"]
        found = listed["items"][0]
        unchanged = ok(client.replace({**found, "metadata": {**found["metadata"]}}))
        assert unchanged["metadata"]["resourceVersion"] == found["metadata"]["resourceVersion"]
        refusal(
            client.replace({**found, "metadata": {**found["metadata"], "resourceVersion": "2"}}),
            409,
            "Conflict",
        )


@pytest.mark.kubectl
def test_kubectl_shows_them(server: ServerProcess) -> None:
    command = [
        "kubectl",
        "--kubeconfig",
        str(server.kubeconfig),
        "get",
        "cm,secret,deploy,hpa,things",
        "-o",
        "name",
    ]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout.split()
    assert {"configmap/settings", "secret/door", "deployment.apps/web", "thing.example.com/one"} <= set(shown)


REFUSED = {
    "encrypted": (b"k8s:enc:aescbc:v1:key1:\x00\x01", "is encrypted"),
    "of an older version": (envelope("v1beta9", "Secret", b""), "in no form or version that is served here"),
    "cut": (in_protobuf(whole("/registry/secrets/default/door"))[:-30], "cannot be read"),
    "something else": (b"\x00\x01", "in no form or version that is served here"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_would_be_unreadable_is_refused_by_its_key(what: str, tmp_path: Path) -> None:
    value, told = REFUSED[what]
    kine_file(tmp_path / "state.db", [(1, "/registry/secrets/default/door", 1, 0, 0, 0, 0, value, None)])
    done = run_kinepy("import", str(tmp_path / "state.db"), "--data", str(tmp_path / "data"))
    assert done.returncode == 1
    assert done.stderr.startswith("kinepy: the value of key /registry/secrets/default/door ")
    assert told in done.stderr and done.stderr.count("\n") == 1


def test_what_no_type_is_served_under_is_left_as_it_is() -> None:
    for value in (
        b"k8s:enc:x",
        b"\x00",
        b"",
        b'{"health":"true"}',
        b"{",
        envelope("v1", "RangeAllocation", b"\x0a\x00"),
    ):
        assert stored_here(b"/registry/elsewhere/x", value) == value


def test_both_encoders_agree(tmp_path: Path) -> None:
    obj = whole("/registry/configmaps/default/settings")
    by_hand = envelope("v1", "ConfigMap", message("v1.ConfigMap", obj))
    key = b"/registry/configmaps/default/settings"
    assert json.loads(stored_here(key, by_hand)) == json.loads(stored_here(key, in_protobuf(obj)))
    with pytest.raises(BadTransfer):
        stored_here(key, by_hand[:-10])
