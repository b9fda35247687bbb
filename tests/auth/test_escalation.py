"""Nobody grants more than it holds."""

from tests.auth.conftest import BINDINGS, CLUSTER_ROLES, ROLES, Guarded
from tests.auth.rbac import Json
from tests.http.writing import Reply

READ = {"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]}
ALL = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
MAKE_ROLES = {
    "verbs": ["create", "update", "patch", "get"],
    "apiGroups": ["rbac.authorization.k8s.io"],
    "resources": ["roles", "rolebindings", "clusterroles"],
}


async def allow(server: Guarded, *rules: Json) -> None:
    """Let jane do something everywhere."""
    await server("admin", "POST", CLUSTER_ROLES, {"metadata": {"name": "janes"}, "rules": rules})
    await server.grant("Cluster", "janes", "jane")


async def make_role(server: Guarded, *rules: Json, name: str = "r") -> Reply:
    """Jane makes a role."""
    return await server("jane", "POST", ROLES, {"metadata": {"name": name}, "rules": rules})


async def make_binding(server: Guarded, role: str) -> Reply:
    """Jane binds a cluster role to bob."""
    subjects = [{"kind": "User", "name": "bob"}]
    body = {"metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": role}, "subjects": subjects}
    return await server("jane", "POST", BINDINGS, body)


async def test_a_role_may_allow_what_its_maker_may(server: Guarded) -> None:
    await allow(server, MAKE_ROLES, READ)
    assert (await make_role(server, READ)).code == 201


async def test_a_role_that_allows_more_is_refused_in_the_originals_words(server: Guarded) -> None:
    await allow(server, MAKE_ROLES, READ)
    reply = await make_role(server, {**READ, "verbs": ["get", "delete", "watch"]})
    assert reply.code == 403
    assert reply.message == (
        'roles.rbac.authorization.k8s.io "r" is forbidden: user "jane" (groups=["devs" "system:authenticated"])'
        " is attempting to grant RBAC permissions not currently held:\n"
        '{APIGroups:[""], Resources:["configmaps"], Verbs:["delete" "watch"]}'
    )


async def test_every_kind_of_write_is_checked(server: Guarded) -> None:
    await allow(server, MAKE_ROLES, READ)
    assert (await make_role(server, READ)).code == 201
    more = {"rules": [ALL]}
    target = f"{ROLES}/r"
    assert (
        await server("jane", "PATCH", target, more, content_type="application/merge-patch+json")
    ).code == 403
    assert (await server("jane", "PUT", target, {"metadata": {"name": "r"}, **more})).code == 403
    assert (await server("jane", "PUT", f"{ROLES}/new", {"metadata": {"name": "new"}, **more})).code == 403
    applied = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "r"},
        **more,
    }
    reply = await server(
        "jane",
        "PATCH",
        f"{target}?fieldManager=m&force=true",
        applied,
        content_type="application/apply-patch+yaml",
    )
    assert reply.code == 403
    assert (await server("admin", "GET", target)).body["rules"] == [READ]


async def test_the_verb_escalate_is_the_way_around(server: Guarded) -> None:
    await allow(server, MAKE_ROLES, {**MAKE_ROLES, "verbs": ["escalate"], "resources": ["roles"]})
    assert (await make_role(server, ALL)).code == 201


async def test_a_binding_grants_what_its_maker_holds_or_may_bind(server: Guarded) -> None:
    await allow(server, MAKE_ROLES, READ)
    await server("admin", "POST", CLUSTER_ROLES, {"metadata": {"name": "reader"}, "rules": [READ]})
    await server("admin", "POST", CLUSTER_ROLES, {"metadata": {"name": "god"}, "rules": [ALL]})
    await server.settled()
    refused = await make_binding(server, "god")
    assert (refused.code, refused.message[:46]) == (403, 'rolebindings.rbac.authorization.k8s.io "b" is ')
    assert (await make_binding(server, "none")).code == 404
    assert (await make_binding(server, "reader")).code == 201


async def test_the_verb_bind_on_a_role_lets_it_be_bound(server: Guarded) -> None:
    bind = {
        **MAKE_ROLES,
        "verbs": ["bind"],
        "resources": ["clusterroles"],
        "resourceNames": ["cluster-admin"],
    }
    await allow(server, MAKE_ROLES, bind)
    assert (await make_binding(server, "admin")).code == 201, "an empty role grants nothing"
    body = {"metadata": {"name": "c"}, "roleRef": {"kind": "ClusterRole", "name": "cluster-admin"}}
    assert (await server("jane", "POST", BINDINGS, body)).code == 201


async def test_only_who_may_everything_lets_a_role_gather_others(server: Guarded) -> None:
    await allow(server, MAKE_ROLES)
    gathers = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    body = {"metadata": {"name": "g"}, "aggregationRule": gathers}
    reply = await server("jane", "POST", CLUSTER_ROLES, body)
    assert (reply.code, reply.message) == (
        403,
        'clusterroles.rbac.authorization.k8s.io "g" is forbidden:'
        " must have cluster-admin privileges to use the aggregationRule",
    )
    assert (await server("admin", "POST", CLUSTER_ROLES, body)).code == 201


async def test_put_and_apply_that_would_create_need_the_right_to_create(server: Guarded) -> None:
    await allow(server, {**MAKE_ROLES, "verbs": ["update", "patch"]})
    body = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "n"}}
    expected = 'roles.rbac.authorization.k8s.io "n" is forbidden: User "jane" cannot create resource "roles"'
    put = await server("jane", "PUT", f"{ROLES}/n", body)
    applied = await server(
        "jane", "PATCH", f"{ROLES}/n?fieldManager=m", body, content_type="application/apply-patch+yaml"
    )
    for reply in (put, applied):
        assert (reply.code, reply.message[: len(expected)]) == (403, expected)
