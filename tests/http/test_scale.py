"""An object's number of replicas is read and written as a Scale."""

from typing import Any

import pytest

from tests.http.writing import CORE, JSON_PATCH, Api, managers

APPS = "/apis/apps/v1/namespaces/default"
POD = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
SPEC = {"selector": {"matchLabels": {"a": "b"}}, "template": POD}
SCALABLE = {
    f"{APPS}/deployments": SPEC,
    f"{APPS}/replicasets": SPEC,
    f"{APPS}/statefulsets": SPEC,
    f"{CORE}/replicationcontrollers": {"template": POD},
}


@pytest.mark.parametrize(
    ("path", "spec"), SCALABLE.items(), ids=lambda value: str(value).rpartition("/")[2][:12]
)
async def test_a_scale_is_read_patched_and_put(memory_api: Api, path: str, spec: Any) -> None:
    made = await memory_api.post(path, {"metadata": {"name": "x"}, "spec": spec})
    scale = await memory_api.get(f"{path}/x/scale")
    assert scale.body["status"] == {"replicas": 0, "selector": "a=b"}
    assert scale.body["metadata"]["uid"] == made.body["metadata"]["uid"]
    patched = await memory_api.patch(f"{path}/x/scale", {"spec": {"replicas": 4}})
    assert (patched.body["kind"], patched.body["spec"]) == ("Scale", {"replicas": 4})
    put = await memory_api.put(f"{path}/x/scale", {**patched.body, "spec": {"replicas": 5}})
    assert put.body["spec"] == {"replicas": 5}
    assert (await memory_api.get(f"{path}/x")).body["spec"]["replicas"] == 5


async def test_replicas_are_owned_through_the_scale(memory_api: Api) -> None:
    path = f"{APPS}/deployments"
    await memory_api.post(path, {"metadata": {"name": "x"}, "spec": SPEC})
    await memory_api.patch(f"{path}/x/scale?fieldManager=scaler", {"spec": {"replicas": 4}})
    reply = await memory_api.get(f"{path}/x")
    assert managers(reply)["scaler"] == {"f:spec": {"f:replicas": {}}}
    (entry,) = [one for one in reply.body["metadata"]["managedFields"] if one["manager"] == "scaler"]
    assert (entry["subresource"], entry["apiVersion"]) == ("scale", "apps/v1")


async def test_a_scale_for_another_version_of_the_object_conflicts(memory_api: Api) -> None:
    path = f"{APPS}/deployments"
    await memory_api.post(path, {"metadata": {"name": "x"}, "spec": SPEC})
    scale = (await memory_api.get(f"{path}/x/scale")).body
    await memory_api.patch(f"{path}/x/scale", {"spec": {"replicas": 4}})
    assert (await memory_api.put(f"{path}/x/scale", scale)).code == 409


async def test_a_patch_that_makes_no_scale_is_422(memory_api: Api) -> None:
    path = f"{APPS}/deployments"
    await memory_api.post(path, {"metadata": {"name": "x"}, "spec": SPEC})
    patch = [{"op": "add", "path": "/spec/replicas", "value": "many"}]
    reply = await memory_api.patch(f"{path}/x/scale", patch, content_type=JSON_PATCH)
    assert reply.code == 422


async def test_a_scale_can_be_shown_as_a_row(memory_api: Api) -> None:
    path = f"{APPS}/deployments"
    await memory_api.post(path, {"metadata": {"name": "x"}, "spec": {**SPEC, "replicas": 2}})
    table = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    reply = await memory_api.get(f"{path}/x/scale", headers=table)
    assert reply.body["rows"][0]["cells"][:3] == ["x", 2, 0]
