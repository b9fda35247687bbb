"""What the server serves itself has APIServices: made, corrected and taken away by the server."""

from typing import Any

from kinepy_server.context import Context
from kinepy_server.controllers.bootstrap import lasting_keys
from tests.aggregation.aggregating import API_SERVICES_PATH, condition, when
from tests.custom.definitions import DEFINITIONS, GROUP, definition, version
from tests.http.writing import MERGE, Api, api_over

LABEL = "kube-aggregator.kubernetes.io/automanaged"
LOCAL = {
    "type": "Available",
    "status": "True",
    "reason": "Local",
    "message": "Local APIServices are always available",
    "lastTransitionTime": "",
}
CUSTOM = f"{API_SERVICES_PATH}/v1.{GROUP}"


async def test_every_built_in_group_version_has_one(api: Api, context: Context) -> None:
    items = (await api.get(API_SERVICES_PATH)).body["items"]
    versions = {
        f"{version}.{group.name}"
        for group in context.registry.groups()
        for version in group.versions
        if group.name != "apiregistration.k8s.io"
    }
    assert {item["metadata"]["name"] for item in items} == versions
    assert all(item["metadata"]["labels"] == {LABEL: "onstart"} for item in items)
    assert all(condition(item) == LOCAL for item in items)
    specs = {item["metadata"]["name"]: item["spec"] for item in items}
    assert specs["v1."] == {"version": "v1", "groupPriorityMinimum": 18000, "versionPriority": 1}
    assert specs["v2.autoscaling"] == {
        "group": "autoscaling", "version": "v2", "groupPriorityMinimum": 17500, "versionPriority": 30,
    }  # fmt: skip
    assert specs["v1.apps"]["groupPriorityMinimum"] == 17800
    assert {key for key in lasting_keys(context.registry) if b"apiservices" in key} == {
        f"/registry/apiregistration.k8s.io/apiservices/{name}".encode() for name in versions
    }


async def test_the_order_of_groups_is_that_of_their_priorities(api: Api, context: Context) -> None:
    items = (await api.get(API_SERVICES_PATH)).body["items"]
    order: dict[str, None] = {}
    for item in sorted(items, key=lambda i: (-i["spec"]["groupPriorityMinimum"], i["metadata"]["name"])):
        order[item["spec"].get("group", "")] = None
    told = [group.name for group in context.registry.groups()]
    assert list(order) == [name for name in told if name != "apiregistration.k8s.io"]


async def test_a_definition_s_comes_and_goes_with_it(api: Api, context: Context) -> None:
    await api.post(DEFINITIONS, definition(version(), version("v2"), version("v3", served=False)))
    made = await when(context, api, CUSTOM, lambda reply: reply.code == 200)
    spec = {"group": GROUP, "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 100}
    assert made.body["spec"] == spec
    assert made.body["metadata"]["labels"] == {LABEL: "true"}
    assert condition(made.body) == LOCAL
    await when(context, api, CUSTOM.replace("v1.", "v2."), lambda reply: reply.code == 200)
    assert (await api.get(CUSTOM.replace("/v1.", "/v3."))).code == 404
    await api.delete(f"{DEFINITIONS}/widgets.{GROUP}")
    await when(context, api, CUSTOM, lambda reply: reply.code == 404)
    await when(context, api, CUSTOM.replace("/v1.", "/v2."), lambda reply: reply.code == 404)


async def test_one_that_several_definitions_need_stays_with_the_last(api: Api, context: Context) -> None:
    await api.post(DEFINITIONS, definition())
    await api.post(DEFINITIONS, definition(plural="gears", kind="Gear"))
    made = await when(context, api, CUSTOM, lambda reply: reply.code == 200)
    await api.delete(f"{DEFINITIONS}/widgets.{GROUP}")
    await when(context, api, f"{DEFINITIONS}/widgets.{GROUP}", lambda reply: reply.code == 404)
    assert (await api.get(CUSTOM)).body["metadata"]["uid"] == made.body["metadata"]["uid"]
    await api.delete(f"{DEFINITIONS}/gears.{GROUP}")
    await when(context, api, CUSTOM, lambda reply: reply.code == 404)


async def test_a_definition_s_is_corrected(api: Api, context: Context) -> None:
    await api.post(DEFINITIONS, definition())
    await when(context, api, CUSTOM, lambda reply: reply.code == 200)
    await api.patch(CUSTOM, {"spec": {"groupPriorityMinimum": 5}}, content_type=MERGE)
    await when(context, api, CUSTOM, lambda reply: _priority(reply.body) == 1000)
    await api.delete(CUSTOM)
    await when(context, api, CUSTOM, lambda reply: reply.code == 200)


def _priority(obj: Any) -> int:
    found: int = obj["spec"]["groupPriorityMinimum"]
    return found


async def test_somebody_else_s_is_left_alone(api: Api, context: Context) -> None:
    spec = {"group": GROUP, "version": "v1", "groupPriorityMinimum": 7, "versionPriority": 7}
    await api.post(API_SERVICES_PATH, {"metadata": {"name": f"v1.{GROUP}"}, "spec": spec})
    await api.post(DEFINITIONS, definition(version(), version("v2")))
    await when(context, api, CUSTOM.replace("/v1.", "/v2."), lambda reply: reply.code == 200)
    await api.delete(f"{DEFINITIONS}/widgets.{GROUP}")
    await when(context, api, CUSTOM.replace("/v1.", "/v2."), lambda reply: reply.code == 404)
    assert (await api.get(CUSTOM)).body["spec"] == spec


async def test_a_built_in_one_is_corrected_when_a_server_starts_and_not_before(context: Context) -> None:
    apps = f"{API_SERVICES_PATH}/v1.apps"
    async with api_over(context) as api:
        await api.patch(apps, {"spec": {"groupPriorityMinimum": 5}}, content_type=MERGE)
        await api.post(API_SERVICES_PATH, _left_over())
        assert _priority((await api.get(apps)).body) == 5
    async with api_over(context) as api:
        await when(context, api, apps, lambda reply: _priority(reply.body) == 17800)
        await when(context, api, f"{API_SERVICES_PATH}/v1beta1.apps", lambda reply: reply.code == 404)


def _left_over() -> dict[str, Any]:
    """What an older server would have left behind."""
    spec = {"group": "apps", "version": "v1beta1", "groupPriorityMinimum": 17800, "versionPriority": 1}
    return {"metadata": {"name": "v1beta1.apps", "labels": {LABEL: "onstart"}}, "spec": spec}
