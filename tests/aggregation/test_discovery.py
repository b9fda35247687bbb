"""Discovery and OpenAPI tell what backends serve, in the order of priorities, and what of it is stale."""

from typing import Any

import pytest

from kinepy_server.aggregation.apiservice import ApiService
from kinepy_server.aggregation.documents import BadDocument, of_all, of_one, openapi_paths
from kinepy_server.aggregation.merging import Catalog
from kinepy_server.aggregation.state import Published
from kinepy_server.context import Context
from kinepy_server.resources.builtins import builtin_registry
from tests.aggregation.aggregating import AGGREGATED, API_SERVICES_PATH, OWN, aggregate, when
from tests.aggregation.backend import (
    DISCOVERED,
    FLUNDERS,
    GROUP,
    ROOT,
    VERSION,
    Asked,
    Backend,
    backend_tls,
)
from tests.custom.definitions import DEFINITIONS, definition, version
from tests.http.writing import MERGE, Api, Reply

NAMED = {"groupVersion": f"{GROUP}/{VERSION}", "version": VERSION}


def described(reply: Reply) -> Any:
    """The versions of the backend's group in an aggregated document."""
    items = reply.body["items"]
    return next((item["versions"] for item in items if item["metadata"].get("name") == GROUP), None)


async def aggregated(context: Context, api: Api, freshness: str) -> Any:
    """The versions of the backend's group, as soon as the first is so fresh."""

    def holds(reply: Reply) -> bool:
        versions = described(reply)
        return versions is not None and versions[0]["freshness"] == freshness

    class Wanting:
        async def get(self, target: str) -> Reply:
            return await api.get(target, headers=AGGREGATED)

        async def post(self, target: str, body: Any) -> Reply:
            return await api.post(target, body)

    return described(await when(context, Wanting(), "/apis", holds))


async def test_the_group_is_listed_by_its_priority(api: Api, context: Context, flunders: Backend) -> None:
    await api.post(DEFINITIONS, definition())
    await aggregate(context, api, flunders)
    groups = (await api.get("/apis")).body["groups"]
    assert [group["name"] for group in groups][-2:] == [GROUP, "example.com"]
    assert groups[0]["name"] == "apiregistration.k8s.io"
    assert groups[-2] == {"name": GROUP, "versions": [NAMED], "preferredVersion": NAMED}
    assert (await api.get(f"/apis/{GROUP}")).body == {"kind": "APIGroup", "apiVersion": "v1", **groups[-2]}
    await api.patch(OWN, {"spec": {"groupPriorityMinimum": 17650}}, content_type=MERGE)
    moved = await when(context, api, "/apis", lambda reply: reply.body["groups"][-1]["name"] != GROUP)
    names = [group["name"] for group in moved.body["groups"]]
    assert names.index(GROUP) == names.index("authorization.k8s.io") - 1
    assert f"/apis/{GROUP}/{VERSION}" in (await api.get("/")).body["paths"]


async def test_what_the_backend_tells_stands_in_the_aggregated_form(
    api: Api, context: Context, flunders: Backend
) -> None:
    before = (await api.get("/apis", headers=AGGREGATED)).header("etag")
    await aggregate(context, api, flunders)
    assert await aggregated(context, api, "Current") == [
        {"version": VERSION, "resources": DISCOVERED, "freshness": "Current"}
    ]
    reply = await api.get("/apis", headers=AGGREGATED)
    assert reply.header("etag") != before
    assert reply.body["items"][0]["metadata"]["name"] == "apiregistration.k8s.io"
    await api.delete(OWN)
    await when(context, api, f"/apis/{GROUP}", lambda reply: reply.code == 404)
    assert (await api.get("/apis", headers=AGGREGATED)).header("etag") == before


async def test_a_backend_that_does_not_know_the_aggregated_form_is_asked_for_the_old_one(
    memory_api: Api, memory: Context, flunders: Backend
) -> None:
    flunders.aggregated = False
    await aggregate(memory, memory_api, flunders)
    (told,) = await aggregated(memory, memory_api, "Current")
    (resource,) = told["resources"]
    assert (resource["resource"], resource["scope"], resource["singularResource"]) == (
        "flunders",
        "Namespaced",
        "flunder",
    )
    assert resource["subresources"] == [
        {
            "subresource": "status",
            "responseKind": {"group": "", "version": "", "kind": "Flunder"},
            "verbs": ["get"],
        }
    ]


async def test_a_backend_that_tells_nothing_is_stale(
    memory_api: Api, memory: Context, flunders: Backend
) -> None:
    async def nonsense(asked: Asked) -> None:
        await asked.answer(200, b"[]", content_type="application/json;as=APIGroupDiscoveryList")

    flunders.answer = nonsense
    await aggregate(memory, memory_api, flunders)
    assert await aggregated(memory, memory_api, "Stale") == [{"version": VERSION, "freshness": "Stale"}]
    flunders.answer = None
    (told,) = await aggregated(memory, memory_api, "Current")
    assert told["resources"] == DISCOVERED


async def test_one_that_is_gone_is_stale_until_it_is_back(
    memory_api: Api, memory: Context, flunders: Backend
) -> None:
    await aggregate(memory, memory_api, flunders)
    await aggregated(memory, memory_api, "Current")
    await flunders.stop()
    # Whatever changes of it, it is asked again.
    await memory_api.patch(OWN, {"spec": {"versionPriority": 300}}, content_type=MERGE)
    await aggregated(memory, memory_api, "Stale")
    assert [group["name"] for group in (await memory_api.get("/apis")).body["groups"]][-1] == GROUP
    await flunders.start(backend_tls())
    await aggregated(memory, memory_api, "Current")


async def test_openapi_names_the_backend_s_description_and_fetches_it_there(
    memory_api: Api, memory: Context, flunders: Backend
) -> None:
    await aggregate(memory, memory_api, flunders)
    await aggregated(memory, memory_api, "Current")
    index = (await memory_api.get("/openapi/v3")).body["paths"]
    assert index[ROOT[1:]] == {"serverRelativeURL": f"/openapi/v3{ROOT}?hash=1"}
    assert {"api/v1", "apis/apps/v1"} <= set(index)
    document = await memory_api.get(index[ROOT[1:]]["serverRelativeURL"])
    assert document.body["info"]["title"] == "flunders"
    assert flunders.asked[-1].target == f"/openapi/v3{ROOT}?hash=1"
    assert (await memory_api.get("/openapi/v3/api/v1")).body["info"]["title"] == "Kubernetes"


async def test_a_definition_s_group_may_have_versions_elsewhere(
    memory_api: Api, memory: Context, flunders: Backend
) -> None:
    await memory_api.post(DEFINITIONS, definition(version("v1"), group=GROUP, plural="widgets"))
    await when(memory, memory_api, f"{API_SERVICES_PATH}/v1.{GROUP}", lambda reply: reply.code == 200)
    await aggregate(memory, memory_api, flunders)
    versions = (await memory_api.get(f"/apis/{GROUP}")).body["versions"]
    assert [one["version"] for one in versions] == [VERSION, "v1"]
    assert (await memory_api.get(f"/apis/{GROUP}/v1/namespaces/default/widgets")).code == 200
    assert (await memory_api.get(FLUNDERS)).code == 200


def test_among_equals_names_decide_and_releases_come_first() -> None:
    def remote(group: str, version: str) -> ApiService:
        return ApiService(
            f"{version}.{group}", group, version, None, group_priority=1000, version_priority=100
        )

    services = [
        remote("b.io", "v1"),
        remote("a.io", "v1beta1"),
        remote("b.io", "v2"),
        remote("b.io", "v1alpha1"),
    ]
    documents = {one.group_version: {"version": one.version} for one in services}
    catalog = Catalog(builtin_registry(), Published(services, {}, documents))
    assert [group.name for group in catalog.groups()][-2:] == ["b.io", "a.io"]
    assert [group.name for group in catalog.described_groups()][-2:] == ["a.io", "b.io"]
    assert catalog.groups()[-2].versions == ["v2", "v1", "v1alpha1"]
    own = [group.name for group in builtin_registry().groups() if group.name]
    assert [group.name for group in catalog.groups() if group.name][:-2] == own


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"items":1}',
        b'{"items":[1]}',
        b'{"items":[{"versions":{"a":1}}]}',
        b'{"items":[{"metadata":[1]}]}',
        b'{"items":[{"metadata":{"name":"g"},"versions":[{"version":"v1","resources":[{}]}]}]}',
        b'{"items":[{"metadata":{"name":"g"},"versions":[{"version":"v1","resources":[{"resource":"a","verbs":1}]}]}]}',
    ],
)
def test_what_is_no_document_is_refused(body: bytes) -> None:
    with pytest.raises(BadDocument):
        of_all(body)


def test_what_is_no_list_of_resources_is_refused() -> None:
    for body in (
        b"nope",
        b'{"resources":{"a":1}}',
        b'{"resources":["a"]}',
        b'{"resources":[{}]}',
        b'{"resources":[{"name":["a/b"]}]}',
        b'{"resources":[{"name":"a","verbs":"get"}]}',
    ):
        with pytest.raises(BadDocument):
            of_one(body)
    with pytest.raises(BadDocument):
        openapi_paths(b'{"paths":[]}')
