"""The end of a namespace (NS-2): everything in it goes, pods first; what stays is told in its conditions."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from kinepy import KeyRange
from kinepy_server.context import Context
from kinepy_server.controllers.namespace_conditions import Remaining, set_conditions
from tests.controllers.objects import CONFIGMAPS, make, until
from tests.http.writing import Api, api_over

N = "/api/v1/namespaces/n"
KEY = b"/registry/namespaces/n"


@pytest.fixture
async def api(context: Context) -> AsyncIterator[Api]:
    """With the namespace controller running, and a namespace."""
    async with api_over(context, controllers=["namespaces"]) as found:
        assert (await found.post("/api/v1/namespaces", {"metadata": {"name": "n"}})).code == 201
        yield found


async def conditions(api: Api, context: Context) -> Mapping[str, Any]:
    """Wait until a namespace tells about its contents."""
    async with asyncio.timeout(20), context.store.watch(KeyRange.single(KEY)) as watch:
        while not (found := (await api.get(N)).body["status"].get("conditions")):
            await watch.next(timeout_s=1)
    return {condition["type"]: condition for condition in found}


async def test_a_dying_namespace_tells_what_holds_it(api: Api, context: Context) -> None:
    await make(api, "held", namespace="n", finalizers=["x.io/y"])
    await make(api, "free", namespace="n")
    await api.delete(N)
    told = await conditions(api, context)
    assert {kind: (one["status"], one["reason"], one["message"]) for kind, one in told.items()} == {
        "NamespaceDeletionDiscoveryFailure": (
            "False",
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        "NamespaceDeletionGroupVersionParsingFailure": (
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        "NamespaceDeletionContentFailure": (
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        "NamespaceContentRemaining": (
            "True",
            "SomeResourcesRemain",
            "Some resources are remaining: configmaps. has 1 resource instances",
        ),
        "NamespaceFinalizersRemaining": (
            "True",
            "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining: x.io/y in 1 resource instances",
        ),
    }
    await api.patch(f"{N}/configmaps/held", {"metadata": {"finalizers": None}})
    await until(context, lambda objects: KEY not in objects)


async def test_pods_go_before_everything_else(api: Api, context: Context) -> None:
    pod = {
        "metadata": {"name": "p", "finalizers": ["x.io/y"]},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    assert (await api.post(f"{N}/pods", pod)).code == 201
    await make(api, "a", namespace="n")
    await api.delete(N)
    told = await conditions(api, context)
    assert told["NamespaceContentRemaining"]["message"] == (
        "Some resources are remaining: pods. has 1 resource instances"
    )
    assert (await api.get(f"{N}/configmaps/a")).code == 200
    await api.patch(f"{N}/pods/p", {"metadata": {"finalizers": None}})
    await until(context, lambda objects: KEY not in objects)


async def test_a_namespace_that_is_held_itself_stays_without_contents(api: Api, context: Context) -> None:
    await make(api, "free", namespace="n")
    await api.patch(N, {"metadata": {"finalizers": ["x.io/y"]}})
    await api.delete(N)
    await until(context, lambda objects: not any(b"/configmaps/n/" in key for key in objects))
    async with asyncio.timeout(20), context.store.watch(KeyRange.single(KEY)) as watch:
        while "finalizers" in (await api.get(N)).body["spec"]:
            await watch.next(timeout_s=1)
    await api.patch(N, {"metadata": {"finalizers": None}})
    assert (await api.get(N)).code == 404


async def test_a_name_can_be_used_again_and_keeps_its_new_contents(
    two_contexts: tuple[Context, Context],
) -> None:
    one, other = two_contexts
    async with (
        api_over(one, controllers=["namespaces"]) as api,
        api_over(other, controllers=["namespaces"]) as second,
    ):
        for _ in range(3):
            await second.post("/api/v1/namespaces", {"metadata": {"name": "n"}})
            await make(second, "a", namespace="n")
            await api.delete(N)
            await until(other, lambda objects: KEY not in objects)
        await second.post("/api/v1/namespaces", {"metadata": {"name": "n"}})
        await make(second, "a", namespace="n")
        assert (await api.get(f"{N}/configmaps/a")).code == 200


async def test_creates_that_race_with_the_end_leave_nothing_behind(
    two_contexts: tuple[Context, Context],
) -> None:
    one, other = two_contexts
    async with api_over(one, controllers=["namespaces"]) as api, api_over(other) as second:
        await api.post("/api/v1/namespaces", {"metadata": {"name": "n"}})

        async def write(index: int) -> int:
            number, path = 0, CONFIGMAPS.format(namespace="n")
            while True:
                reply = await second.post(path, {"metadata": {"name": f"w{index}-{number}"}})
                if reply.code != 201:
                    return reply.code
                number += 1
                if number == 5 and index == 0:
                    await api.delete(N)

        async with asyncio.timeout(20):
            codes = await asyncio.gather(*map(write, range(8)))
        assert set(codes) <= {403, 404}
        objects = await until(one, lambda objects: KEY not in objects)
        assert not [key for key in objects if b"/n/" in key]


def test_conditions_that_say_nothing_new_change_nothing() -> None:
    namespace: dict[str, Any] = {}
    remaining = Remaining()
    remaining.objects["pods."] = 2
    assert set_conditions(namespace, remaining, now="then")
    assert not set_conditions(namespace, remaining, now="now")
    assert {one["lastTransitionTime"] for one in namespace["status"]["conditions"]} == {"then"}


def test_a_condition_that_is_over_says_so_and_others_conditions_stay() -> None:
    namespace = {"status": {"conditions": [{"type": "Other", "status": "True"}]}}
    remaining = Remaining(failures=["no"])
    set_conditions(namespace, remaining, now="then")
    assert set_conditions(namespace, Remaining(), now="now")
    found = {one["type"]: one for one in namespace["status"]["conditions"]}
    assert found["Other"] == {"type": "Other", "status": "True"}
    assert found["NamespaceDeletionContentFailure"] == {
        "type": "NamespaceDeletionContentFailure",
        "status": "False",
        "reason": "ContentDeleted",
        "message": "All content successfully deleted, may be waiting on finalization",
        "lastTransitionTime": "now",
    }
