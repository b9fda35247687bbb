"""Nobody grants by a role or a binding what it does not hold itself (AUTH-4).

The verbs `escalate` on roles and `bind` on the role of a binding are the ways around.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kinepy_server.auth.actions import Action
from kinepy_server.auth.authorizer import Authorizer
from kinepy_server.auth.identity import WriteCheck
from kinepy_server.auth.rbac.policy import GROUP
from kinepy_server.auth.rbac.rules import (
    FULL_AUTHORITY,
    Rule,
    described,
    quoted_list,
    read_rules,
    uncovered,
)
from kinepy_server.auth.user import MASTERS
from kinepy_server.errors import StatusError, details, forbidden
from kinepy_server.request import Request
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.schema.go_text import go_syntax

_COLLECTOR = frozenset(("ownerReferences", "finalizers", "managedFields", "resourceVersion", "generation"))
"""What the garbage collector changes of an object's metadata."""


def escalation_checks(authorizer: Authorizer) -> Mapping[str, WriteCheck]:
    """The checks, by the qualified names of the resources that they are for."""
    checks = _Checks(authorizer)
    return {
        f"roles.{GROUP}": checks.role,
        f"clusterroles.{GROUP}": checks.role,
        f"rolebindings.{GROUP}": checks.binding,
        f"clusterrolebindings.{GROUP}": checks.binding,
    }


@dataclass(frozen=True, slots=True)
class _Checks:
    authorizer: Authorizer

    def role(self, request: Request, resource: Resource, new: JsonObject, *, old: JsonObject | None) -> None:
        """What the rules of a role allow must be held, and everything to let a role gather others."""
        if MASTERS in request.user.groups or _collects_only(new, old) or self._may_escalate(request):
            return
        name = new["metadata"].get("name", "")
        self._require(request, resource, name, rules=read_rules(new.get("rules")))
        if _gathers(new) or (old is not None and _gathers(old)):
            held = self.authorizer.held(request.user, request.namespace)
            if uncovered(held.rules, FULL_AUTHORITY):
                why = "must have cluster-admin privileges to use the aggregationRule"
                raise forbidden(resource, name, why)

    def binding(
        self, request: Request, resource: Resource, new: JsonObject, *, old: JsonObject | None
    ) -> None:
        """What the role of a binding allows must be held."""
        ref = new.get("roleRef") or {}
        kind, role = ref.get("kind", ""), ref.get("name", "")
        if MASTERS in request.user.groups or _collects_only(new, old) or self._may_bind(request, kind, role):
            return
        referred = self.authorizer.referred(kind, role, request.namespace)
        if referred.problem:
            raise _unknown_role(kind, role, referred.problem)
        self._require(request, resource, new["metadata"].get("name", ""), rules=referred.rules)

    def _may_escalate(self, request: Request) -> bool:
        action = Action(
            "escalate", request.group, request.resource, namespace=request.namespace, name=request.name
        )
        return self.authorizer.allows(request.user, action)

    def _may_bind(self, request: Request, kind: str, role: str) -> bool:
        plural = {"Role": "roles", "ClusterRole": "clusterroles"}.get(kind)
        if plural is None:
            return False
        action = Action("bind", GROUP, plural, namespace=request.namespace, name=role)
        return self.authorizer.allows(request.user, action)

    def _require(self, request: Request, resource: Resource, name: str, *, rules: Sequence[Rule]) -> None:
        user = request.user
        held = self.authorizer.held(user, request.namespace)
        missing = uncovered(held.rules, rules)
        if not missing:
            return
        who = f"user {go_syntax(user.name)} (groups={quoted_list(user.groups)})"
        lines = "\n".join(described(missing))
        why = f"{who} is attempting to grant RBAC permissions not currently held:\n{lines}"
        if held.problem:
            why = f"{why}; resolution errors: [{held.problem}]"
        raise forbidden(resource, name, why)


def _unknown_role(kind: str, name: str, problem: str) -> StatusError:
    plural = {"Role": "roles", "ClusterRole": "clusterroles"}.get(kind)
    if plural is None:
        return StatusError(500, "", problem)
    return StatusError(404, "NotFound", problem, details=details(name=name, group=GROUP, kind=kind.lower()))


def _gathers(role: JsonObject) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _collects_only(new: JsonObject, old: JsonObject | None) -> bool:
    """Whether nothing changes but what the garbage collector needs to change."""
    return old is not None and _without_collectors(new) == _without_collectors(old)


def _without_collectors(obj: JsonObject) -> JsonObject:
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _COLLECTOR}
    return {**obj, "metadata": metadata}
