"""Controllers know custom resources: owners, and what is in a namespace."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from kinepy import open_store
from kinepy_server.context import Context
from kinepy_server.resources.builtins import builtin_registry
from tests.custom.definitions import GROUP, PATIENCE_S, ROOT, WIDGETS, Crds, widget
from tests.http.writing import CONFIGMAPS, Api, api_over, configmap


@pytest.fixture
async def live() -> AsyncIterator[Api]:
    """An application with controllers."""
    async with (
        open_store("sqlite:///:memory:") as store,
        api_over(Context(store, builtin_registry()), controllers=["garbagecollector", "namespaces"]) as api,
    ):
        yield api


async def _gone(api: Api, target: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while (await api.get(target)).code != 404:  # noqa: ASYNC110 nothing tells when
            await asyncio.sleep(0)


async def test_what_a_custom_object_owns_goes_with_it(live: Api) -> None:
    await Crds(live).define()
    owner = (await live.post(WIDGETS, widget())).body
    reference = {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "name": "w", "uid": owner["metadata"]["uid"]}
    assert (await live.post(CONFIGMAPS, configmap("owned", ownerReferences=[reference]))).code == 201
    await live.delete(f"{WIDGETS}/w")
    await _gone(live, f"{CONFIGMAPS}/owned")


async def test_custom_objects_go_with_their_namespace(live: Api) -> None:
    await Crds(live).define()
    await live.post("/api/v1/namespaces", {"metadata": {"name": "passing"}})
    assert (await live.post(f"{ROOT}/namespaces/passing/widgets", widget())).code == 201
    await live.delete("/api/v1/namespaces/passing")
    await _gone(live, "/api/v1/namespaces/passing")
    assert (await live.get(f"{ROOT}/widgets")).body["items"] == []
