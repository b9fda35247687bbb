"""What a fresh server starts with, and what a later start does to it."""

import asyncio
from typing import Any

import pytest

from kinepy import KeyRange, Mirror, Revision, open_store
from kinepy_server.auth.rbac.bootstrap import make_bootstrap_policy
from kinepy_server.context import Context
from kinepy_server.controllers.clusterroles import gather_cluster_roles
from kinepy_server.objects.codec import decode
from kinepy_server.resources.builtins import builtin_registry
from kinepy_server.resources.resource import Resource
from tests.auth.conftest import CLUSTER_ROLES, Guarded
from tests.backends import SHARED_BACKENDS, Backend, DatabaseMaker
from tests.http.writing import Reply

MERGE = "application/merge-patch+json"


def cluster_roles(context: Context) -> Resource:
    """The resource."""
    found = context.registry.lookup("rbac.authorization.k8s.io", "v1", "clusterroles")
    assert found is not None
    return found


async def role(server: Guarded, name: str) -> Any:
    """A cluster role as a client sees it."""
    reply = await server("admin", "GET", f"{CLUSTER_ROLES}/{name}")
    assert reply.code == 200, reply.content
    return reply.body


async def change(server: Guarded, name: str, patch: Any) -> Reply:
    """Merge something into a cluster role."""
    reply = await server("admin", "PATCH", f"{CLUSTER_ROLES}/{name}", patch, content_type=MERGE)
    assert reply.code == 200, reply.content
    return reply


async def test_a_fresh_server_has_the_originals_roles(guarded: Guarded) -> None:
    found = await role(guarded, "system:basic-user")
    assert found["metadata"]["annotations"] == {"rbac.authorization.kubernetes.io/autoupdate": "true"}
    assert found["metadata"]["labels"] == {"kubernetes.io/bootstrapping": "rbac-defaults"}
    base = "/apis/rbac.authorization.k8s.io/v1"
    counts = {
        plural: len((await guarded("admin", "GET", f"{base}/{plural}")).body["items"])
        for plural in ("clusterroles", "clusterrolebindings", "roles", "rolebindings")
    }
    assert counts == {"clusterroles": 69, "clusterrolebindings": 50, "roles": 7, "rolebindings": 7}


async def test_a_second_start_writes_nothing(guarded: Guarded) -> None:
    before = await guarded.context.store.current_revision()
    await make_bootstrap_policy(guarded.context)
    assert await guarded.context.store.current_revision() == before


async def test_what_was_taken_away_comes_back_at_the_next_start(guarded: Guarded) -> None:
    name = "system:basic-user"
    whole = await role(guarded, name)
    own = {"verbs": ["get"], "apiGroups": [""], "resources": ["nodes"]}
    await change(guarded, name, {"rules": [own], "metadata": {"labels": None}})
    await guarded("admin", "DELETE", f"{CLUSTER_ROLES}/system:discovery")
    await make_bootstrap_policy(guarded.context)
    found = await role(guarded, name)
    assert own in found["rules"], "what was added stays"
    assert {r["resources"][0] for r in found["rules"]} >= {r["resources"][0] for r in whole["rules"]}
    assert found["metadata"]["labels"] == whole["metadata"]["labels"]
    assert (await role(guarded, "system:discovery"))["rules"]


async def test_a_role_that_is_not_to_be_updated_is_left_alone(guarded: Guarded) -> None:
    name = "system:basic-user"
    annotations = {"rbac.authorization.kubernetes.io/autoupdate": "false"}
    changed = await change(guarded, name, {"rules": [], "metadata": {"annotations": annotations}})
    await make_bootstrap_policy(guarded.context)
    assert (await role(guarded, name))["metadata"]["resourceVersion"] == changed.version


@pytest.mark.parametrize("shared", SHARED_BACKENDS, ids=lambda backend: backend.name)
async def test_servers_that_start_at_once_make_one_policy(shared: Backend, databases: DatabaseMaker) -> None:
    url = databases.fresh_url(shared)
    async with open_store(url) as one, open_store(url) as other:
        contexts = [Context(store, builtin_registry()) for store in (one, other)]
        await asyncio.gather(*map(make_bootstrap_policy, contexts))
        revisions = {await store.current_revision() for store in (one, other)}
        assert revisions == {1 + 69 + 50 + 7 + 7}


async def gathered(context: Context, name: str, *, has: str) -> None:
    """Wait until a role's rules name a resource."""
    resource = cluster_roles(context)
    key = resource.key("", name)
    async with asyncio.timeout(20), Mirror(context.store, KeyRange.prefix(key)) as mirror:
        while True:
            rules = decode(resource, mirror[key]).get("rules") if key in mirror else None
            if any(has in rule.get("resources", ()) for rule in rules or ()):
                return
            await mirror.wait_for(Revision(mirror.revision + 1))


async def test_roles_gather_what_is_labelled_for_them_through_several_steps(guarded: Guarded) -> None:
    task = asyncio.create_task(gather_cluster_roles(guarded.context))
    try:
        # view's rules come to admin by way of edit.
        await gathered(guarded.context, "admin", has="pods/log")
        labels = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
        rules = [{"verbs": ["get"], "apiGroups": ["example.com"], "resources": ["widgets"]}]
        await guarded(
            "admin", "POST", CLUSTER_ROLES, {"metadata": {"name": "w", "labels": labels}, "rules": rules}
        )
        await gathered(guarded.context, "admin", has="widgets")
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.wait([task])
