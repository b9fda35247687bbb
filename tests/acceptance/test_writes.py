"""Acceptance (1)-(4) and (14): who wins, what moves the revision, and what a kill leaves behind."""

from kinepy.revision import Revision
from tests.acceptance.servers import STALE, Place
from tests.processes import Client, Json, ServerProcess, configmap, configmaps, message, ok

LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"


def revision_of(body: Json) -> Revision:
    """The revision an object or a list shows."""
    return Revision(int(body["metadata"]["resourceVersion"]))


def test_a01_the_second_of_two_writers_gets_the_conflict_text(client: Client, place: Place) -> None:
    first = client.create("cm1", namespace=place.namespace, v="0")
    second = {**first, "data": {"v": "second"}}
    won = ok(client.replace({**first, "data": {"v": "first"}}))
    text = message(client.replace(second), 409, "Conflict")
    assert text == STALE.format("cm1")
    stored = ok(client.get(f"{place.configmaps}/cm1"))
    assert stored["data"] == {"v": "first"}
    assert revision_of(stored) == revision_of(won)


def test_a02_writes_without_a_revision_do_not_conflict(client: Client, place: Place) -> None:
    body = client.create("cm2", namespace=place.namespace, v="0")
    address = f"{place.configmaps}/cm2"
    ok(client.replace({**body, "data": {"v": "1"}}))
    unconditional = configmap("cm2", namespace=place.namespace, v="2")
    assert ok(client.replace(unconditional))["data"] == {"v": "2"}
    assert ok(client.merge_patch(address, {"data": {"w": "3"}}))["data"] == {"v": "2", "w": "3"}


def test_a02_a_merge_patch_with_a_stale_revision_conflicts(client: Client, place: Place) -> None:
    body = client.create("cm2b", namespace=place.namespace, v="0")
    ok(client.replace({**body, "data": {"v": "1"}}))
    stale = {"metadata": {"resourceVersion": body["metadata"]["resourceVersion"]}, "data": {"v": "2"}}
    refused = client.merge_patch(f"{place.configmaps}/cm2b", stale)
    assert message(refused, 409, "Conflict") == STALE.format("cm2b")


def test_a03_a_write_of_the_same_content_keeps_the_revision(client: Client, place: Place) -> None:
    body = client.create("cm3", namespace=place.namespace, v="0")
    before = client.revision()
    again = ok(client.replace(body))
    patched = ok(client.merge_patch(f"{place.configmaps}/cm3", {"data": {"v": "0"}}))
    assert revision_of(again) == revision_of(patched) == revision_of(body)
    assert client.revision() == before


def test_a04_all_types_share_one_counter(client: Client, place: Place) -> None:
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l4"}, "spec": {}}
    first = revision_of(client.create("cm4a", namespace=place.namespace))
    second = revision_of(ok(client.send("POST", LEASES.format(place.namespace), lease), 201))
    third = revision_of(client.create("cm4b", namespace=place.namespace))
    assert (second, third) == (first + 1, first + 2)


def test_a14_a_killed_server_never_uses_a_revision_again(own_server: ServerProcess) -> None:
    with own_server.client() as client:
        seen = [revision_of(client.create(f"before-{i}")) for i in range(20)]
        client.delete("before-19")
        newest = client.revision()
    own_server.kill()
    own_server.restart()
    with own_server.client() as client:
        assert client.revision() >= newest > max(seen)
        assert revision_of(client.create("after")) > newest
        listed = ok(client.get(configmaps()))["items"]
        assert [
            item["metadata"]["name"] for item in listed if item["metadata"]["name"].startswith("b")
        ] == sorted(f"before-{i}" for i in range(19))
