"""Pods are bound, evicted, given time to end, and changed through their subresources."""

from typing import Any

import pytest

from tests.http.writing import CORE, Api

PODS = f"{CORE}/pods"
STRATEGIC = "application/strategic-merge-patch+json"
BINDING = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"name": "n"}}


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


async def test_a_binding_names_the_node_once(memory_api: Api) -> None:
    await memory_api.post(PODS, pod())
    bound = await memory_api.post(f"{CORE}/bindings", BINDING)
    assert (bound.code, bound.body["status"]) == (201, "Success")
    assert (await memory_api.get(f"{PODS}/p")).body["spec"]["nodeName"] == "n"
    again = await memory_api.post(f"{PODS}/p/binding", BINDING)
    assert again.code == 409


@pytest.mark.parametrize(
    ("target", "text"),
    [({}, "target.name: Required value"), ({"kind": "Pod", "name": "n"}, "target.kind: Unsupported value")],
)
async def test_a_bad_binding_is_500(memory_api: Api, target: Any, text: str) -> None:
    await memory_api.post(PODS, pod())
    reply = await memory_api.post(f"{PODS}/p/binding", {**BINDING, "target": target})
    assert (reply.code, reply.message.startswith(text)) == (500, True)


async def test_a_gated_pod_is_not_bound(memory_api: Api) -> None:
    created = await memory_api.post(PODS, pod(schedulingGates=[{"name": "e.com/g"}]))
    assert created.body["status"]["conditions"][0]["reason"] == "SchedulingGated"
    assert (await memory_api.post(f"{PODS}/p/binding", BINDING)).code == 409


async def test_a_pod_on_a_node_has_time_to_end_and_one_without_goes_at_once(memory_api: Api) -> None:
    await memory_api.post(PODS, pod(nodeName="n", terminationGracePeriodSeconds=7))
    held = await memory_api.delete(f"{PODS}/p")
    assert held.body["metadata"]["deletionGracePeriodSeconds"] == 7
    shorter = await memory_api.delete(f"{PODS}/p", {"gracePeriodSeconds": 2})
    assert shorter.body["metadata"]["deletionGracePeriodSeconds"] == 2
    assert shorter.body["metadata"]["deletionTimestamp"] < held.body["metadata"]["deletionTimestamp"]
    assert (await memory_api.delete(f"{PODS}/p?gracePeriodSeconds=0")).code == 200
    assert (await memory_api.get(f"{PODS}/p")).code == 404


async def test_an_update_does_not_end_the_grace_period(memory_api: Api) -> None:
    await memory_api.post(PODS, pod(nodeName="n"))
    await memory_api.delete(f"{PODS}/p")
    labelled = await memory_api.patch(f"{PODS}/p", {"metadata": {"labels": {"a": "b"}}})
    assert labelled.body["metadata"]["deletionGracePeriodSeconds"] == 30


async def test_an_ephemeral_container_is_added_through_its_subresource_only(memory_api: Api) -> None:
    await memory_api.post(PODS, pod())
    debugger = {"spec": {"ephemeralContainers": [{"name": "d", "image": "i"}]}}
    refused = await memory_api.patch(f"{PODS}/p", debugger, content_type=STRATEGIC)
    assert refused.code == 422
    added = await memory_api.patch(f"{PODS}/p/ephemeralcontainers", debugger, content_type=STRATEGIC)
    assert [one["name"] for one in added.body["spec"]["ephemeralContainers"]] == ["d"]


async def test_resources_change_through_resize_only(memory_api: Api) -> None:
    await memory_api.post(PODS, pod())
    more = {
        "spec": {"containers": [{"name": "c", "image": "other", "resources": {"requests": {"cpu": "0.5"}}}]}
    }
    resized = await memory_api.patch(f"{PODS}/p/resize", more, content_type=STRATEGIC)
    (container,) = resized.body["spec"]["containers"]
    assert (container["resources"], container["image"]) == ({"requests": {"cpu": "500m"}}, "i")


async def test_logs_need_a_node(memory_api: Api) -> None:
    await memory_api.post(PODS, pod())
    reply = await memory_api.get(f"{PODS}/p/log")
    assert (reply.code, reply.message) == (400, "pod p does not have a host assigned")
    assert (await memory_api.get(f"{PODS}/none/log")).code == 404


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
    ],
)
async def test_what_a_pod_asks_for_is_its_class(memory_api: Api, resources: Any, quality: str) -> None:
    containers = [{"name": "c", "image": "i", "resources": resources}]
    assert (await memory_api.post(PODS, pod(containers=containers))).body["status"]["qosClass"] == quality
