"""All roles and bindings of a store, kept so that a user's rules are found quickly. Pure.

Roles are compiled when somebody's rights are first asked for; what nobody has costs no more than its bytes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from kinepy_server.auth.rbac.rules import Rule, read_rules
from kinepy_server.auth.user import SERVICE_ACCOUNT_PREFIX, User

GROUP = "rbac.authorization.k8s.io"


class RoleRef(NamedTuple):
    """The role that a binding grants."""

    kind: str
    name: str


class Subject(NamedTuple):
    """To whom a binding grants: kind and name as written, and the user or group that this means."""

    kind: str
    name: str
    user: str
    group: str


@dataclass(frozen=True, slots=True)
class Binding:
    """A binding; `namespace` is empty for one of the whole cluster."""

    name: str
    namespace: str
    role: RoleRef
    subjects: Sequence[Subject]

    def applies_to(self, user: User) -> Subject | None:
        """The first subject that is the user or a group of the user."""
        for subject in self.subjects:
            if subject.user == user.name if subject.user else subject.group in user.groups:
                return subject
        return None


@dataclass(frozen=True, slots=True)
class Grant:
    """What one binding gives a user: rules, or the reason why its role gives none."""

    binding: Binding
    subject: Subject
    rules: Sequence[Rule]
    problem: str

    def described(self) -> str:
        """Where rights come from, as the original tells it."""
        binding, role = self.binding, self.binding.role
        kind, name = (
            ("RoleBinding", f"{binding.name}/{binding.namespace}")
            if binding.namespace
            else (
                "ClusterRoleBinding",
                binding.name,
            )
        )
        return f'{kind} "{name}" of {role.kind} "{role.name}" to {self.subject.kind} "{self.subject.name}"'


class _Scope:
    """The bindings of one namespace, or of the cluster, found by whom they are for."""

    def __init__(self) -> None:
        self.bindings: dict[str, Binding] = {}
        self._by_user: dict[str, dict[str, Binding]] = {}
        self._by_group: dict[str, dict[str, Binding]] = {}

    def put(self, binding: Binding) -> None:
        self.remove(binding.name)
        self.bindings[binding.name] = binding
        for table, who in self._places(binding):
            table.setdefault(who, {})[binding.name] = binding

    def remove(self, name: str) -> None:
        old = self.bindings.pop(name, None)
        if old is None:
            return
        for table, who in self._places(old):
            found = table.get(who)
            if found is not None:
                found.pop(name, None)
                if not found:
                    del table[who]

    def _places(self, binding: Binding) -> Iterator[tuple[dict[str, dict[str, Binding]], str]]:
        for subject in binding.subjects:
            if subject.user:
                yield self._by_user, subject.user
            elif subject.group:
                yield self._by_group, subject.group

    def of(self, user: User) -> list[Binding]:
        """The bindings for a user, by name."""
        found: dict[str, Binding] = dict(self._by_user.get(user.name, {}))
        for group in user.groups:
            found.update(self._by_group.get(group, {}))
        return [found[name] for name in sorted(found)]


class Policy:
    """Roles and bindings. Namespaces are empty for those of the whole cluster."""

    def __init__(self) -> None:
        self._scopes: dict[str, _Scope] = {}
        self._roles: dict[tuple[str, str], bytes | tuple[Rule, ...]] = {}

    def put_role(self, namespace: str, name: str, value: bytes) -> None:
        """There is a role with this stored value."""
        self._roles[namespace, name] = value

    def remove_role(self, namespace: str, name: str) -> None:
        """There is no such role any more."""
        self._roles.pop((namespace, name), None)

    def put_binding(self, namespace: str, name: str, value: bytes) -> None:
        """There is a binding with this stored value."""
        self._scopes.setdefault(namespace, _Scope()).put(read_binding(namespace, name, orjson.loads(value)))

    def remove_binding(self, namespace: str, name: str) -> None:
        """There is no such binding any more."""
        scope = self._scopes.get(namespace)
        if scope is not None:
            scope.remove(name)
            if not scope.bindings:
                del self._scopes[namespace]

    def grants(self, user: User, namespace: str) -> list[Grant]:
        """What the bindings of one namespace, or with none those of the cluster, give a user."""
        scope = self._scopes.get(namespace)
        if scope is None:
            return []
        grants = []
        for binding in scope.of(user):
            subject = binding.applies_to(user)
            if subject is not None:
                rules, problem = self.rules(binding.role, namespace)
                grants.append(Grant(binding, subject, rules, problem))
        return grants

    def rules(self, role: RoleRef, namespace: str) -> tuple[Sequence[Rule], str]:
        """The rules of a role as a binding in a namespace means it, or why there are none."""
        if role.kind not in ("Role", "ClusterRole"):
            return (), f'unsupported role reference kind: "{role.kind}"'
        key = (namespace if role.kind == "Role" else "", role.name)
        # A cluster-wide binding cannot mean a Role, and a Role's namespace is never empty.
        found = self._roles.get(key) if role.kind == "ClusterRole" or namespace else None
        if found is None:
            return (), f'{role.kind.lower()}.{GROUP} "{role.name}" not found'
        if isinstance(found, bytes):
            found = self._roles[key] = read_rules(orjson.loads(found).get("rules"))
        return found, ""


def read_binding(namespace: str, name: str, value: Mapping[str, Any]) -> Binding:
    """A binding from its JSON value."""
    ref = value.get("roleRef") or {}
    subjects = (_subject(entry, namespace) for entry in value.get("subjects") or ())
    return Binding(name, namespace, RoleRef(ref.get("kind", ""), ref.get("name", "")), tuple(subjects))


def _subject(entry: Mapping[str, Any], namespace: str) -> Subject:
    kind, name = entry.get("kind", ""), entry.get("name", "")
    if kind == "User":
        return Subject(kind, name, name, "")
    if kind == "Group":
        return Subject(kind, name, "", name)
    own = entry.get("namespace") or namespace
    if kind == "ServiceAccount" and own:
        return Subject(kind, f"{name}/{own}", f"{SERVICE_ACCOUNT_PREFIX}{own}:{name}", "")
    return Subject(kind, name, "", "")


def problems(grants: Iterable[Grant]) -> str:
    """What went wrong with grants, as the original puts several problems together; empty when nothing did."""
    texts = list(dict.fromkeys(grant.problem for grant in grants if grant.problem))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]" if texts else ""
