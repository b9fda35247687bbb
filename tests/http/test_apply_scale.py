"""Server-side apply of a Scale: the number of replicas changes hands as fields of objects do."""

from typing import Any

import pytest

from tests.http.test_scale import APPS, SCALABLE, SPEC
from tests.http.writing import Api, Reply, managers

DEPLOYMENTS = f"{APPS}/deployments"
REPLICAS: dict[str, Any] = {"f:spec": {"f:replicas": {}}}


async def apply_scale(api: Api, path: str, manager: str, *, spec: Any, query: str = "") -> Reply:
    config = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "x"}, "spec": spec}
    target = f"{path}/x/scale?fieldManager={manager}{query}"
    return await api.patch(target, config, content_type="application/apply-patch+yaml")


async def make(api: Api, path: str = DEPLOYMENTS, spec: Any = SPEC) -> None:
    body = {"metadata": {"name": "x"}, "spec": {**spec, "replicas": 1}}
    assert (await api.post(f"{path}?fieldManager=maker", body)).code == 201


@pytest.mark.parametrize(
    ("path", "spec"), SCALABLE.items(), ids=lambda value: str(value).rpartition("/")[2][:12]
)
async def test_an_applier_takes_the_number_by_force_only(memory_api: Api, path: str, spec: Any) -> None:
    await make(memory_api, path, spec)
    refused = await apply_scale(memory_api, path, "scaler", spec={"replicas": 3})
    assert (refused.code, refused.body["reason"]) == (409, "Conflict")
    assert refused.body["details"]["causes"][0]["field"] == ".spec.replicas"
    forced = await apply_scale(memory_api, path, "scaler", spec={"replicas": 3}, query="&force=true")
    assert (forced.code, forced.body["kind"], forced.body["spec"]) == (200, "Scale", {"replicas": 3})
    assert "managedFields" not in forced.body["metadata"]
    reply = await memory_api.get(f"{path}/x")
    assert reply.body["spec"]["replicas"] == 3
    assert managers(reply)["scaler"] == REPLICAS
    assert "f:replicas" not in managers(reply)["maker"]["f:spec"]
    (entry,) = [one for one in reply.body["metadata"]["managedFields"] if one["manager"] == "scaler"]
    assert (entry["operation"], entry["subresource"]) == ("Apply", "scale")
    assert entry["apiVersion"] == ("v1" if "/apps/" not in path else "apps/v1")


async def test_who_applies_the_same_number_shares_it_and_again_changes_nothing(memory_api: Api) -> None:
    await make(memory_api)
    shared = await apply_scale(memory_api, DEPLOYMENTS, "scaler", spec={"replicas": 1})
    assert shared.code == 200
    found = managers(await memory_api.get(f"{DEPLOYMENTS}/x"))
    assert found["scaler"] == REPLICAS and "f:replicas" in found["maker"]["f:spec"]
    again = await apply_scale(memory_api, DEPLOYMENTS, "scaler", spec={"replicas": 1})
    assert again.version == shared.version


async def test_the_object_can_be_updated_after_its_scale_was_applied(memory_api: Api) -> None:
    await make(memory_api)
    await apply_scale(memory_api, DEPLOYMENTS, "scaler", spec={"replicas": 3}, query="&force=true")
    await memory_api.patch(f"{DEPLOYMENTS}/x?fieldManager=other", {"spec": {"replicas": 5}})
    found = managers(await memory_api.get(f"{DEPLOYMENTS}/x"))
    assert "scaler" not in found and found["other"]["f:spec"] == {"f:replicas": {}}


async def test_the_scale_of_nothing_is_404(memory_api: Api) -> None:
    reply = await apply_scale(memory_api, DEPLOYMENTS, "scaler", spec={"replicas": 3})
    assert (reply.code, reply.message) == (404, 'deployments.apps "x" not found')


async def test_what_is_no_scale_is_400(memory_api: Api) -> None:
    await make(memory_api)
    config = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}}
    target = f"{DEPLOYMENTS}/x/scale?fieldManager=m"
    reply = await memory_api.patch(target, config, content_type="application/apply-patch+yaml")
    assert reply.code == 400
