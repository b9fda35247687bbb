"""Nothing new comes into a namespace that has begun to die, however long ago the create looked at it (NS-3)."""

import pytest

from kinepy import KeyValue, Revision
from kinepy_server.context import Context
from kinepy_server.errors import StatusError
from kinepy_server.objects.namespaces import require_namespace
from kinepy_server.resources.resource import Resource
from kinepy_server.writes.guarded import create_guarded
from kinepy_server.writes.outcome import Write, change
from tests.http.writing import Api, api_over

N = "/api/v1/namespaces/n"
VALUE = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"n","uid":"u"}}'


def configmaps(context: Context) -> Resource:
    found = context.registry.lookup("", "v1", "configmaps")
    assert found is not None
    return found


async def remove(api: Api) -> None:
    """Delete a namespace and finish it."""
    dying = (await api.delete(N)).body
    dying["spec"]["finalizers"] = []
    assert (await api.put(f"{N}/finalize", dying)).code == 200


async def test_a_create_of_another_process_cannot_land_in_a_removed_namespace(
    two_contexts: tuple[Context, Context],
) -> None:
    one, other = two_contexts
    resource = configmaps(other)
    key = resource.key("n", "a")
    async with api_over(one) as api:
        made = await api.post("/api/v1/namespaces", {"metadata": {"name": "n"}})
        await other.store.wait_for(Revision(int(made.version)), timeout_s=5)
        guard = await require_namespace(other, resource, "n", name="a")
        await remove(api)
    with pytest.raises(StatusError) as refused:
        await create_guarded(other, resource, key, value=VALUE, actor="", guard=guard)
    assert refused.value.code == 404
    assert await other.store.get(key) is None


async def test_a_dying_namespace_refuses_a_create_that_looked_before(api: Api, context: Context) -> None:
    await api.post("/api/v1/namespaces", {"metadata": {"name": "n"}})
    resource = configmaps(context)
    guard = await require_namespace(context, resource, "n", name="a")
    await api.delete(N)
    with pytest.raises(StatusError) as refused:
        await create_guarded(context, resource, resource.key("n", "a"), value=VALUE, actor="", guard=guard)
    assert refused.value.code == 403


async def test_a_namespace_that_got_a_label_still_takes_the_create(api: Api, context: Context) -> None:
    await api.post("/api/v1/namespaces", {"metadata": {"name": "n"}})
    resource = configmaps(context)
    guard = await require_namespace(context, resource, "n", name="a")
    await api.patch(N, {"metadata": {"labels": {"a": "b"}}})
    made = await create_guarded(context, resource, resource.key("n", "a"), value=VALUE, actor="", guard=guard)
    assert made.version == 1


async def test_an_update_that_creates_is_guarded_too(api: Api, context: Context) -> None:
    await api.post("/api/v1/namespaces", {"metadata": {"name": "n"}})
    resource = configmaps(context)
    guards = [await require_namespace(context, resource, "n", name="a")]
    await api.patch(N, {"metadata": {"labels": {"a": "b"}}})

    async def look() -> KeyValue | None:
        if not guards:
            guards.append(await require_namespace(context, resource, "n", name="a"))
        return guards.pop()

    outcome = await change(
        context,
        resource.key("n", "a"),
        lambda _: Write(VALUE),
        actor="",
        before_create=look,
    )
    assert outcome.created
    assert not guards
