"""A kopf operator of a custom resource, with a peering, through a death of the server and a compaction."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.servers import compact
from tests.clients.kopf_process import WAIT_S, KopfProcess
from tests.processes import Client, Json, ServerProcess, ok

OPERATOR = Path(__file__).with_name("kopf_box_operator.py")
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
BOXES = "/apis/kinepy.test/v1/namespaces/default/boxes"
PEERINGS = "/apis/kopf.dev/v1/namespaces/default/kopfpeerings"
FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
BOX_SPEC = {
    "type": "object",
    "required": ["size"],
    "properties": {"size": {"type": "integer", "minimum": 0}, "color": {"type": "string", "default": "red"}},
}


def define(client: Client, plural: str, kind: str, *, group: str, **version: Any) -> None:
    """Define a custom resource with a free status, and wait until it is served."""
    schema = {"type": "object", "properties": {"spec": BOX_SPEC, "status": FREE}}
    one = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
    spec = {
        "group": group,
        "scope": "Namespaced",
        "names": {"plural": plural, "kind": kind},
        "versions": [one],
    }
    name = f"{plural}.{group}"
    ok(client.send("POST", DEFINITIONS, {"metadata": {"name": name}, "spec": spec}), 201)
    watched(client, DEFINITIONS, name, lambda event: "Established" in _true(event["object"]))


def _true(found: Json) -> set[str]:
    conditions = found.get("status", {}).get("conditions") or ()
    return {one["type"] for one in conditions if one["status"] == "True"}


def watched(client: Client, path: str, name: str, is_so: Callable[[Json], bool]) -> Json:
    """The first event about an object, from its state now on, that is so."""
    follow: dict[str, str | int] = {"fieldSelector": f"metadata.name={name}", "timeoutSeconds": WAIT_S}
    with client.watch(path, **follow) as events:
        for event in events:
            if is_so(event):
                return event["object"]
    raise AssertionError(f"{name} was never so")


def create(client: Client, name: str, *labels: str) -> None:
    body = {
        "apiVersion": "kinepy.test/v1",
        "kind": "Box",
        "metadata": {"name": name, "labels": dict.fromkeys(labels, "yes")},
        "spec": {"size": 1},
    }
    ok(client.send("POST", BOXES, body), 201)


def change(client: Client, name: str, **spec: Any) -> None:
    ok(client.merge_patch(f"{BOXES}/{name}", {"spec": spec}))


def delete(client: Client, name: str) -> None:
    """Delete it, and wait until kopf has let it go."""
    going = ok(client.send("DELETE", f"{BOXES}/{name}"), 200)
    assert going["metadata"]["finalizers"] == ["kopf.zalando.org/KopfFinalizerMarker"]
    since = going["metadata"]["resourceVersion"]
    follow = {"fieldSelector": f"metadata.name={name}", "timeoutSeconds": WAIT_S, "resourceVersion": since}
    with client.watch(BOXES, **follow) as events:
        assert "DELETED" in (event["type"] for event in events)


def status_has(client: Client, name: str, **status: Any) -> None:
    """Wait until its status has these members."""
    watched(client, BOXES, name, lambda event: status.items() <= event["object"].get("status", {}).items())


def peers(found: Json) -> Json:
    return found.get("status") or {}


@pytest.fixture
def client(own_server: ServerProcess) -> Iterator[Client]:
    """Both resources are defined, and there is a peering."""
    with own_server.client() as found:
        define(found, "boxes", "Box", group="kinepy.test", subresources={"status": {}})
        # As kopf defines it: a peering's state is written without a subresource, and everything is kept.
        define(found, "kopfpeerings", "KopfPeering", group="kopf.dev", schema={"openAPIV3Schema": FREE})
        peering = {"apiVersion": "kopf.dev/v1", "kind": "KopfPeering", "metadata": {"name": "default"}}
        ok(found.send("POST", PEERINGS, peering), 201)
        yield found


def alone(client: Client) -> Json:
    """Wait until one operator is in the peering; returns what it said last."""
    found = watched(client, PEERINGS, "default", lambda event: len(peers(event["object"])) == 1)
    return next(iter(peers(found).values()))["lastseen"]


@pytest.mark.parametrize("own_server", ["sqlite-file", "postgres"], indirect=True)
def test_an_operator_of_a_custom_resource_survives_a_death_and_a_compaction(
    own_server: ServerProcess, client: Client
) -> None:
    with KopfProcess(own_server, OPERATOR) as operator:
        create(client, "a", "attended")
        operator.says("create a 1 a", "field a None 1", "daemon a")
        status_has(client, "a", phase="Made", created={"size": 1}, resized="None to 1")
        change(client, "a", size=2)
        operator.says("update a spec.size", "field a 1 2")
        # What was handled is written down: what the server's death interrupts, kopf handles again.
        status_has(client, "a", resized="1 to 2")
        seen = alone(client)
        own_server.kill()
        own_server.restart()
        compact(own_server)
        change(client, "a", size=3, color="blue")
        operator.says("update a spec.color spec.size", "field a 2 3")
        status_has(client, "a", phase="Made", created={"size": 1}, resized="2 to 3")
        watched(client, PEERINGS, "default", lambda event: _kept_alive(event["object"], since=seen))
        create(client, "t", "timed")
        operator.says("create t 1 a t", "field t None 1", "tick t 1", "tick t 2", "tick t 3")
        delete(client, "a")
        operator.says("daemon ends a", "delete a")
        assert (operator.stop(), operator.errors) == (0, [])
    assert peers(ok(client.get(f"{PEERINGS}/default"))) == {}
    events = ok(client.get("/api/v1/namespaces/default/events"))["items"]
    assert {"a", "t"} <= {event["involvedObject"]["name"] for event in events if event["reason"] == "Seen"}
    with KopfProcess(own_server, OPERATOR) as operator:
        operator.says("resume t Made")
        delete(client, "t")
        operator.says("delete t")
        assert (operator.stop(), operator.errors) == (0, [])


def _kept_alive(found: Json, *, since: str) -> bool:
    return any(peer["lastseen"] > since for peer in peers(found).values())
