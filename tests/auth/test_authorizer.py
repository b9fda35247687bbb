"""Decisions: by whom they are bound, for which names, why, and how soon a change counts."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from kinepy_server.auth.actions import Action
from kinepy_server.auth.rbac.authorizer import RbacAuthorizer
from kinepy_server.auth.rbac.policy import Policy
from kinepy_server.auth.user import User, authenticated
from tests.auth.rbac import Json, bind, fresh_authorizer, group, role, user

JANE = authenticated("jane", ["devs"])
READ = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps"]}


def get(name: str = "x", namespace: str = "ns", verb: str = "get") -> Action:
    """A request for a ConfigMap."""
    return Action(verb, "", "configmaps", namespace=namespace, name=name)


def decided(policy: Policy, who: User = JANE) -> bool:
    """Whether a user may read in the namespace."""
    return RbacAuthorizer(policy).allows(who, get())


def test_rights_come_from_bindings_to_the_user_or_a_group_of_it() -> None:
    for subject, name in ((user("jane"), JANE), (group("devs"), JANE), (group("system:authenticated"), JANE)):
        policy = Policy()
        role(policy, "ns/r", READ)
        bind(policy, "ns/b", "Role", "r", subject)
        assert decided(policy, name)
        assert not decided(policy, User("other"))


def test_a_service_account_is_bound_by_its_name_and_namespace() -> None:
    policy = Policy()
    role(policy, "read", READ)
    bind(policy, "b", "ClusterRole", "read", {"kind": "ServiceAccount", "name": "sa", "namespace": "x"})
    bind(policy, "ns/b", "ClusterRole", "read", {"kind": "ServiceAccount", "name": "local"})
    bind(policy, "c", "ClusterRole", "read", {"kind": "ServiceAccount", "name": "nowhere"})
    assert decided(policy, User("system:serviceaccount:x:sa"))
    assert decided(policy, User("system:serviceaccount:ns:local"))
    assert not decided(policy, User("system:serviceaccount:x:local"))
    assert not decided(policy, User("system:serviceaccount::nowhere"))


def test_a_binding_in_a_namespace_counts_there_only() -> None:
    policy = Policy()
    role(policy, "read", READ)
    bind(policy, "ns/b", "ClusterRole", "read", user("jane"))
    authorizer = RbacAuthorizer(policy)
    assert authorizer.allows(JANE, get())
    assert not authorizer.allows(JANE, get(namespace="other"))
    assert not authorizer.allows(JANE, get(namespace="", verb="list"))


def test_a_cluster_binding_cannot_mean_a_role_of_a_namespace() -> None:
    policy = Policy()
    role(policy, "ns/r", READ)
    role(policy, "r", READ)
    bind(policy, "b", "Role", "r", user("jane"))
    assert not decided(policy)


def test_names_limit_a_rule_to_the_objects_that_have_them() -> None:
    policy = Policy()
    role(policy, "ns/r", {**READ, "verbs": ["get", "list", "create"], "resourceNames": ["x", "y"]})
    bind(policy, "ns/b", "Role", "r", user("jane"))
    authorizer = RbacAuthorizer(policy)
    assert authorizer.allows(JANE, get("x"))
    assert authorizer.allows(JANE, get("y"))
    assert not authorizer.allows(JANE, get("z"))
    assert not authorizer.allows(JANE, get("", verb="create"))


def test_a_change_counts_as_soon_as_it_is_heard_of() -> None:
    policy = Policy()
    authorizer = RbacAuthorizer(policy)
    changes: list[tuple[Callable[[], None], bool]] = [
        (lambda: role(policy, "ns/r", READ), False),
        (lambda: bind(policy, "ns/b", "Role", "r", user("jane")), True),
        (lambda: role(policy, "ns/r"), False),
        (lambda: role(policy, "ns/r", READ), True),
        (lambda: bind(policy, "ns/b", "Role", "r", user("bob")), False),
        (lambda: bind(policy, "ns/b", "Role", "r", group("devs")), True),
        (lambda: policy.remove_binding("ns", "b"), False),
    ]
    for change, allowed in changes:
        change()
        authorizer.forget()
        assert authorizer.allows(JANE, get()) is allowed


def test_an_allowed_review_tells_the_binding() -> None:
    policy = Policy()
    role(policy, "read", READ)
    bind(policy, "ns/b", "ClusterRole", "read", user("bob"), group("devs"))
    reason = RbacAuthorizer(policy).explain(JANE, get()).reason
    assert reason == 'RBAC: allowed by RoleBinding "b/ns" of ClusterRole "read" to Group "devs"'


def test_a_refusal_tells_which_role_is_missing() -> None:
    policy = Policy()
    bind(policy, "ns/b", "Role", "gone", user("jane"))
    bind(policy, "b", "ClusterRole", "gone too", user("jane"))
    assert RbacAuthorizer(policy).explain(JANE, get()).reason == (
        'RBAC: [clusterrole.rbac.authorization.k8s.io "gone too" not found,'
        ' role.rbac.authorization.k8s.io "gone" not found]'
    )


def test_masters_need_no_role() -> None:
    assert RbacAuthorizer(Policy()).allows(User("x", ("system:masters",)), get())


def test_a_fresh_server_lets_users_ask_about_themselves() -> None:
    authorizer = fresh_authorizer()
    assert authorizer.allows(JANE, Action("create", "authorization.k8s.io", "selfsubjectaccessreviews"))
    assert authorizer.allows(JANE, Action("get", path="/openapi/v3/apis/apps/v1", is_resource=False))
    assert not authorizer.allows(JANE, get())
    held = authorizer.held(JANE, "ns")
    assert {rule.resources for rule in held.rules if rule.resources} == {
        ("selfsubjectaccessreviews", "selfsubjectrulesreviews"),
        ("selfsubjectreviews",),
    }


_WORDS = st.sampled_from(["*", "a", "b"])
_SOME = st.lists(_WORDS, min_size=1, max_size=2)
_RESOURCES = st.lists(st.sampled_from(["*", "a", "a/s", "*/s", "b"]), min_size=1, max_size=2)
_RULES = st.fixed_dictionaries(
    {
        "verbs": _SOME,
        "apiGroups": _SOME,
        "resources": _RESOURCES,
        "resourceNames": st.lists(st.sampled_from(["x", "y"]), max_size=2),
    }
)
_ACTIONS = st.builds(
    Action,
    st.sampled_from("ab"),
    st.sampled_from("ab"),
    st.sampled_from("ab"),
    st.sampled_from(["", "s"]),
    st.sampled_from(["", "n"]),
    st.sampled_from(["", "x", "y", "z"]),
)


def naive(rule: Json, action: Action) -> bool:
    """The definition of a match, straight from the rule."""
    full = f"{action.resource}/{action.subresource}" if action.subresource else action.resource
    fits = {"*", full, *([f"*/{action.subresource}"] if action.subresource else ())}
    return (
        bool({"*", action.verb} & set(rule["verbs"]))
        and bool({"*", action.group} & set(rule["apiGroups"]))
        and bool(fits & set(rule["resources"]))
        and (not rule["resourceNames"] or action.name in rule["resourceNames"])
    )


@given(everywhere=st.lists(_RULES, max_size=3), here=st.lists(_RULES, max_size=3), actions=st.lists(_ACTIONS))
def test_decisions_are_those_of_the_rules_one_by_one(
    everywhere: list[Json], here: list[Json], actions: list[Action]
) -> None:
    policy = Policy()
    role(policy, "all", *everywhere)
    role(policy, "n/one", *here)
    bind(policy, "b", "ClusterRole", "all", user("jane"))
    bind(policy, "n/b", "Role", "one", user("jane"))
    authorizer = RbacAuthorizer(policy)
    for action in actions:
        rules = [*everywhere, *(here if action.namespace else ())]
        expected = any(naive(rule, action) for rule in rules)
        assert authorizer.allows(JANE, action) is expected
        assert authorizer.explain(JANE, action).allowed is expected
