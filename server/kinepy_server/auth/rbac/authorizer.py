"""The RBAC authorizer: decisions from memory, kept for as long as no role and no binding changes."""

from collections.abc import Iterator, Sequence

from kinepy import Mirror
from kinepy_server.auth.actions import Attributes
from kinepy_server.auth.authorizer import Decision, Held
from kinepy_server.auth.rbac.policy import Grant, Policy, RoleRef, problems
from kinepy_server.auth.rbac.rules import Rule
from kinepy_server.auth.user import MASTERS, User

USERS_MAX = 4096
VERDICTS_MAX = 4096
_EVERY_NAME: frozenset[str] = frozenset(("",))
"""Stands for all names; no object has an empty one."""
_NO_NAME: frozenset[str] = frozenset()


class _Rights:
    """What one user may do."""

    __slots__ = ("_by_namespace", "_paths", "_policy", "_user", "_verdicts")

    def __init__(self, policy: Policy, user: User) -> None:
        self._policy, self._user = policy, user
        self._by_namespace: dict[str, list[Grant]] = {}
        self._verdicts: dict[tuple[str, str, str, str, str], frozenset[str]] = {}
        self._paths: dict[tuple[str, str], bool] = {}

    def names(self, action: Attributes) -> frozenset[str]:
        """The names of the objects for which the user may do it."""
        key = (action.verb, action.resource, action.namespace, action.group, action.subresource)
        found = self._verdicts.get(key)
        if found is None:
            if len(self._verdicts) >= VERDICTS_MAX:
                self._verdicts.clear()
            found = self._verdicts[key] = self._find(action)
        return found

    def _find(self, action: Attributes) -> frozenset[str]:
        names: set[str] = set()
        for _, rule in self.rules(action.namespace):
            if rule.is_about(action):
                if not rule.names:
                    return _EVERY_NAME
                names.update(rule.names)
        return frozenset(names) or _NO_NAME

    def may_path(self, action: Attributes) -> bool:
        """Whether the user may do it to a path that is no resource."""
        key = (action.verb, action.path)
        found = self._paths.get(key)
        if found is None:
            if len(self._paths) >= VERDICTS_MAX:
                self._paths.clear()
            found = self._paths[key] = any(rule.allows_path(action) for _, rule in self.rules(""))
        return found

    def grants(self, namespace: str) -> Iterator[Grant]:
        """What the user was given for the cluster, then for a namespace."""
        yield from self._granted("")
        if namespace:
            yield from self._granted(namespace)

    def _granted(self, namespace: str) -> list[Grant]:
        found = self._by_namespace.get(namespace)
        if found is None:
            found = self._by_namespace[namespace] = self._policy.grants(self._user, namespace)
        return found

    def rules(self, namespace: str) -> Iterator[tuple[Grant, Rule]]:
        """Every rule with where it comes from."""
        for grant in self.grants(namespace):
            for rule in grant.rules:
                yield grant, rule


class RbacAuthorizer:
    """Decides by a policy; `system:masters` may everything."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.mirrors: Sequence[Mirror] = ()
        """What the policy follows the store by."""
        self._rights: dict[tuple[str, tuple[str, ...]], _Rights] = {}

    def forget(self) -> None:
        """The policy has changed."""
        self._rights.clear()

    def _of(self, user: User) -> _Rights:
        key = (user.name, tuple(user.groups))
        found = self._rights.get(key)
        if found is None:
            if len(self._rights) >= USERS_MAX:
                self._rights.clear()
            found = self._rights[key] = _Rights(self._policy, user)
        return found

    def allows(self, user: User, action: Attributes) -> bool:
        """Whether the user may."""
        if MASTERS in user.groups:
            return True
        rights = self._of(user)
        if not action.is_resource:
            return rights.may_path(action)
        names = rights.names(action)
        return names is _EVERY_NAME or (bool(action.name) and action.name in names)

    def explain(self, user: User, action: Attributes) -> Decision:
        """The same, with the binding that allows it, or what is wrong with the user's bindings."""
        if MASTERS in user.groups:
            return Decision(True)
        rights = self._of(user)
        for grant, rule in rights.rules(action.namespace if action.is_resource else ""):
            if _allows(rule, action):
                return Decision(True, f"RBAC: allowed by {grant.described()}")
        problem = problems(rights.grants(action.namespace))
        return Decision(False, f"RBAC: {problem}" if problem else "")

    def held(self, user: User, namespace: str) -> Held:
        """All rules of the user."""
        rights = self._of(user)
        return Held([rule for _, rule in rights.rules(namespace)], problems(rights.grants(namespace)))

    def referred(self, kind: str, name: str, namespace: str) -> Held:
        """The rules of a role."""
        return Held(*self._policy.rules(RoleRef(kind, name), namespace))

    def problem(self) -> str:
        """What ended the following of the store."""
        return next((str(mirror.error) for mirror in self.mirrors if mirror.error is not None), "")


def _allows(rule: Rule, action: Attributes) -> bool:
    if not action.is_resource:
        return rule.allows_path(action)
    if not rule.is_about(action):
        return False
    return not rule.names or action.name in rule.names
