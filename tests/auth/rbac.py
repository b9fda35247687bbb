"""What the tests of rights share: the policy of a fresh server, and requests of users."""

from typing import Any

import orjson

from kinepy_server.auth.rbac.authorizer import RbacAuthorizer
from kinepy_server.auth.rbac.bootstrap import bootstrap_object
from kinepy_server.auth.rbac.policy import GROUP, Policy
from kinepy_server.auth.user import User
from kinepy_server.data import table
from kinepy_server.request import Request

Json = dict[str, Any]


def role(policy: Policy, place: str, *rules: Json) -> None:
    """Put a role, at `namespace/name`, or at `name` for the whole cluster."""
    namespace, _, name = place.rpartition("/")
    policy.put_role(namespace, name, orjson.dumps({"rules": rules}))


def bind(policy: Policy, place: str, kind: str, to: str, *subjects: Json) -> None:
    """Put a binding of the role `to` of a kind."""
    namespace, _, name = place.rpartition("/")
    value = {"roleRef": {"apiGroup": GROUP, "kind": kind, "name": to}, "subjects": subjects}
    policy.put_binding(namespace, name, orjson.dumps(value))


def user(name: str) -> Json:
    """A subject."""
    return {"kind": "User", "name": name}


def group(name: str) -> Json:
    """A subject."""
    return {"kind": "Group", "name": name}


def fresh_policy() -> Policy:
    """What a fresh server starts with."""
    policy = Policy()
    for plural, entries in table("bootstrap_rbac").items():
        put = policy.put_role if plural.endswith("roles") else policy.put_binding
        for place, entry in entries.items():
            namespace, _, name = place.rpartition("/")
            put(namespace, name, orjson.dumps(bootstrap_object(namespace, name, entry)))
    return policy


def fresh_authorizer() -> RbacAuthorizer:
    """Decides as a fresh server does."""
    return RbacAuthorizer(fresh_policy())


def asked(user: User, *, method: str = "GET", path: str = "/x", **meaning: Any) -> Request:
    """A request of a user."""
    return Request(method, path, {}, {}, user, **meaning)


def resource(verb: str, plural: str = "configmaps", **parts: str) -> Json:
    """The meaning of a resource request."""
    return {"is_resource": True, "verb": verb, "version": "v1", "resource": plural, **parts}
