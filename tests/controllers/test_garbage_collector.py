"""Garbage collection (GC-1, GC-2): dependents of owners that are gone go, whatever way the owner went."""

from collections.abc import AsyncIterator

import pytest

from kinepy import Revision
from kinepy_server.context import Context
from kinepy_server.resources.registry import Registry
from tests.controllers.objects import delete, gone, history, key_of, make, names, owner, settled, until
from tests.http.writing import Api, api_over

STRANGER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "another"}


@pytest.fixture
async def api(context: Context) -> AsyncIterator[Api]:
    """With the garbage collector running."""
    async with api_over(context, controllers=["garbagecollector"]) as found:
        yield found


async def test_dependents_of_a_deleted_owner_go_with_theirs(api: Api, context: Context) -> None:
    top = await make(api, "top")
    middle = await make(api, "middle", owner(top))
    await make(api, "bottom", owner(middle))
    await make(api, "other")
    await delete(api, "top")
    await gone(context, "top", "middle", "bottom")
    assert await names(context) == ["other"]


async def test_an_object_with_a_living_owner_stays_and_forgets_the_dead_one(
    api: Api, context: Context
) -> None:
    one, two = await make(api, "one"), await make(api, "two")
    await make(api, "child", owner(one), owner(two))
    await delete(api, "one")
    objects = await until(context, lambda found: len(found[key_of("child")]["ownerReferences"]) == 1)
    assert objects[key_of("child")]["ownerReferences"][0]["name"] == "two"


async def test_an_owner_is_known_by_its_uid_not_its_name(api: Api, context: Context) -> None:
    await make(api, "o")
    await make(api, "child", STRANGER)
    await gone(context, "child")
    assert await names(context) == ["o"]


async def test_what_was_there_before_the_collector_is_collected(context: Context) -> None:
    async with api_over(context) as api:
        o = await make(api, "o")
        await make(api, "child", owner(o))
        await delete(api, "o")
    async with api_over(context, controllers=["garbagecollector"]):
        await gone(context, "child")


async def test_an_owner_in_another_namespace_is_none(api: Api, context: Context) -> None:
    o = await make(api, "o", namespace="kube-system")
    await make(api, "child", owner(o))
    await gone(context, "child")


async def test_a_cluster_scoped_owner_owns_everywhere(api: Api, context: Context) -> None:
    o = await api.post("/api/v1/namespaces", {"metadata": {"name": "o"}})
    await make(api, "child", owner(o, kind="Namespace"))
    await settled(context)
    assert await names(context) == ["child"]
    dying = (await api.delete("/api/v1/namespaces/o")).body
    dying["spec"]["finalizers"] = []
    await api.put("/api/v1/namespaces/o/finalize", dying)
    await gone(context, "child")


async def test_a_cluster_scoped_object_cannot_lose_an_owner_in_a_namespace(
    api: Api, context: Context
) -> None:
    body = {"metadata": {"name": "n", "ownerReferences": [STRANGER]}}
    assert (await api.post("/api/v1/namespaces", body)).code == 201
    await settled(context)
    assert "deletionTimestamp" not in (await api.get("/api/v1/namespaces/n")).body["metadata"]


async def test_an_owner_whose_type_is_not_served_is_never_taken_for_absent(
    api: Api, context: Context
) -> None:
    await make(api, "child", {**STRANGER, "apiVersion": "example.com/v1", "kind": "Widget"})
    await settled(context)
    assert await names(context) == ["child"]


async def test_types_that_appear_later_are_collected_too(context: Context) -> None:
    leases = context.registry.lookup("coordination.k8s.io", "v1", "leases")
    everything = context.registry
    known = [resource for resource in everything.all() if resource is not leases]
    context.registry = Registry(known, everything.groups(), kinds={})
    async with api_over(context, controllers=["garbagecollector"]) as api:
        await make(api, "child", {**STRANGER, "apiVersion": "coordination.k8s.io/v1", "kind": "Lease"})
        await settled(context)
        assert await names(context) == ["child"]
        context.registry = everything
        await settled(context)
        await gone(context, "child")


async def test_an_orphaning_delete_leaves_dependents_without_the_reference(
    api: Api, context: Context
) -> None:
    o = await make(api, "o")
    await make(api, "child", owner(o))
    await delete(api, "o", "Orphan")
    objects = await gone(context, "o")
    assert "ownerReferences" not in objects[key_of("child")]
    await settled(context)
    assert await names(context) == ["child"]


async def test_a_foreground_delete_waits_for_blocking_dependents(api: Api, context: Context) -> None:
    o = await make(api, "o")
    await make(api, "child", owner(o, blocks=True), finalizers=["x.io/y"])
    await delete(api, "o", "Foreground")
    await until(context, lambda found: "deletionTimestamp" in found[key_of("child")])
    await settled(context)
    assert await names(context) == ["child", "o"]
    await api.patch("/api/v1/namespaces/default/configmaps/child", {"metadata": {"finalizers": None}})
    await gone(context, "o", "child")


async def test_a_foreground_delete_does_not_wait_for_other_dependents(api: Api, context: Context) -> None:
    o = await make(api, "o")
    await make(api, "child", owner(o), finalizers=["x.io/y"])
    await delete(api, "o", "Foreground")
    objects = await gone(context, "o")
    assert key_of("child") in objects
    await until(context, lambda found: "deletionTimestamp" in found[key_of("child")])


async def test_a_foreground_delete_without_dependents_ends(api: Api, context: Context) -> None:
    await make(api, "o")
    await delete(api, "o", "Foreground")
    await gone(context, "o")


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
@pytest.mark.parametrize("size", [1, 2, 3])
async def test_a_circle_goes_when_one_of_it_is_deleted(
    api: Api, context: Context, policy: str, size: int
) -> None:
    ring = [await make(api, f"c{index}") for index in range(size)]
    for index in range(size):
        path = f"/api/v1/namespaces/default/configmaps/c{index}"
        references = [owner(ring[index - 1], blocks=True)]
        assert (await api.patch(path, {"metadata": {"ownerReferences": references}})).code == 200
    await settled(context)
    assert len(await names(context)) == size
    await delete(api, "c0", policy)
    await gone(context, *(f"c{index}" for index in range(size)))


async def test_a_circle_goes_when_all_of_it_are_deleted_in_the_foreground(context: Context) -> None:
    async with api_over(context) as api:
        one = await make(api, "one")
        two = await make(api, "two", owner(one, blocks=True))
        path = "/api/v1/namespaces/default/configmaps/one"
        await api.patch(path, {"metadata": {"ownerReferences": [owner(two, blocks=True)]}})
        await delete(api, "one", "Foreground")
        await delete(api, "two", "Foreground")
    async with api_over(context, controllers=["garbagecollector"]):
        await gone(context, "one", "two")


async def test_a_dependent_that_blocks_two_owners_goes_with_the_last(api: Api, context: Context) -> None:
    one, two = await make(api, "one"), await make(api, "two")
    await make(api, "child", owner(one, blocks=True), owner(two, blocks=True))
    await delete(api, "one", "Foreground")
    await gone(context, "one")
    assert await names(context) == ["child", "two"]
    await delete(api, "two", "Foreground")
    await gone(context, "two", "child")


async def test_an_object_that_is_no_object_harms_nobody(api: Api, context: Context) -> None:
    for value in (b"", b'{"metadata":3,"ownerReferences":1}', b'"ownerReferences":', b"\xff"):
        await context.store.put(key_of("bad"), value)
    await settled(context)


async def test_hundreds_of_dependents_go_each_in_a_revision_of_its_own(api: Api, context: Context) -> None:
    o = await make(api, "o")
    for index in range(300):
        await make(api, f"child-{index}", owner(o))
    before = await context.store.current_revision()
    await delete(api, "o")
    await gone(context, *(f"child-{index}" for index in range(300)))
    assert await context.store.current_revision() == before + 301


async def test_two_servers_collect_once(two_contexts: tuple[Context, Context]) -> None:
    one, other = two_contexts
    async with (
        api_over(one, controllers=["garbagecollector"]) as api,
        api_over(other, controllers=["garbagecollector"]) as second,
    ):
        o = await make(api, "o")
        for index in range(20):
            await make(second, f"child-{index}", owner(o))
        before = await one.store.current_revision()
        await delete(second, "o", "Orphan")
        await gone(one, "o")
        # Changes of objects only: a controller that takes the lead meanwhile spends a revision too.
        changes = await history(one, Revision(before + 1), await one.store.current_revision())
        assert len(changes) == 22
        assert len(await names(other)) == 20
