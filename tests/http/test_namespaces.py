"""Namespaces (NS-1..4): there from the start, closed when dying, emptied by the controller, gone at last."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from kinepy import KeyRange, open_store
from kinepy_server.context import Context
from kinepy_server.controllers.bootstrap import NAMESPACES, make_bootstrap_objects
from kinepy_server.resources.builtins import builtin_registry
from tests.http.writing import Api, api_over, configmap

ALL = KeyRange.prefix(b"/registry/namespaces/")
N = "/api/v1/namespaces/n"


@pytest.fixture
async def controlled(context: Context) -> AsyncIterator[Api]:
    """With the namespace controller running."""
    async with api_over(context, controllers=["namespaces"]) as api:
        yield api


async def gone(context: Context, key: bytes) -> None:
    """Wait for the end of a key."""
    async with context.store.watch(KeyRange.single(key)) as watch:
        while await context.store.get(key) is not None:
            await watch.next(timeout_s=1)


async def make(api: Api) -> None:
    assert (await api.post("/api/v1/namespaces", {"metadata": {"name": "n"}})).code == 201
    assert (await api.post(f"{N}/configmaps", configmap())).code == 201


async def test_bootstrap_makes_each_namespace_once(context: Context) -> None:
    await asyncio.gather(*(make_bootstrap_objects(context) for _ in range(5)))
    found = await context.store.range(ALL)
    assert [kv.key.decode() for kv in found.items] == [f"/registry/namespaces/{name}" for name in NAMESPACES]
    assert {kv.version for kv in found.items} == {1}


async def test_a_second_start_writes_nothing(context: Context) -> None:
    await make_bootstrap_objects(context)
    revision = await context.store.current_revision()
    await make_bootstrap_objects(context)
    assert await context.store.current_revision() == revision


async def test_a_dying_namespace_takes_no_new_objects(api: Api) -> None:
    await make(api)
    dying = (await api.delete(N)).body
    assert dying["status"]["phase"] == "Terminating"
    assert "deletionGracePeriodSeconds" not in dying["metadata"]
    reply = await api.post(f"{N}/configmaps", configmap("b"))
    assert reply.code == 403
    assert reply.body["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    assert (await api.put(f"{N}/configmaps/a", configmap(data={"k": "v"}))).code == 200


async def test_finalize_lets_it_go(api: Api) -> None:
    await make(api)
    dying = (await api.delete(N)).body
    dying["spec"]["finalizers"] = []
    assert (await api.put(f"{N}/finalize", dying)).code == 200
    assert (await api.get(N)).code == 404


async def test_finalizers_of_the_spec_change_through_finalize_alone(memory_api: Api) -> None:
    await make(memory_api)
    body = (await memory_api.get(N)).body
    body["spec"]["finalizers"] = []
    reply = await memory_api.put(N, body)
    assert reply.body["spec"]["finalizers"] == ["kubernetes"]


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_the_systems_namespaces_stay(memory_api: Api, name: str) -> None:
    reply = await memory_api.delete(f"/api/v1/namespaces/{name}")
    assert (reply.code, reply.message) == (
        403,
        f'namespaces "{name}" is forbidden: this namespace may not be deleted',
    )


async def test_the_controller_empties_and_removes_it(controlled: Api, context: Context) -> None:
    await make(controlled)
    await controlled.delete(N)
    await asyncio.wait_for(gone(context, b"/registry/namespaces/n"), 10)
    left = await context.store.range(KeyRange.prefix(b"/registry/configmaps/n/"))
    assert not left.items


async def test_a_namespace_waits_for_held_objects(controlled: Api, context: Context) -> None:
    await make(controlled)
    await controlled.patch(f"{N}/configmaps/a", {"metadata": {"finalizers": ["x.io/y"]}})
    await controlled.delete(N)
    await asyncio.wait_for(marked(context, b"/registry/configmaps/n/a"), 10)
    assert (await controlled.get(N)).body["status"]["phase"] == "Terminating"
    await controlled.patch(f"{N}/configmaps/a", {"metadata": {"finalizers": None}})
    await asyncio.wait_for(gone(context, b"/registry/namespaces/n"), 20)


async def marked(context: Context, key: bytes) -> None:
    """Wait until an object is marked as deleted."""
    async with context.store.watch(KeyRange.single(key)) as watch:
        while b"deletionTimestamp" not in (await context.store.get(key)).value:  # type: ignore[union-attr]
            await watch.next(timeout_s=1)


async def test_two_controllers_and_a_new_namespace_of_the_same_name() -> None:
    async with open_store("sqlite:///:memory:") as store:
        first, second = Context(store, builtin_registry()), Context(store, builtin_registry())
        async with (
            api_over(first, controllers=["namespaces"]) as api,
            api_over(second, controllers=["namespaces"]),
        ):
            for _ in range(5):
                await make(api)
                await api.delete(N)
                await asyncio.wait_for(gone(first, b"/registry/namespaces/n"), 10)
            await make(api)
            assert (await api.get(f"{N}/configmaps/a")).code == 200
