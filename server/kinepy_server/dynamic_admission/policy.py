"""What validating and mutating policies have in common: what they are about, their bindings and variables."""

from collections.abc import Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any, Self

from kinepy_server.cel.off_loop import AtOnce
from kinepy_server.cel.terms import Terms
from kinepy_server.dynamic_admission.conditions import Conditions
from kinepy_server.dynamic_admission.expressions import compiled
from kinepy_server.dynamic_admission.matching import Matcher, label_test


class Binding:
    """Where a policy is in force, with which parameters, and what follows from its findings."""

    def __init__(self, obj: Mapping[str, Any]) -> None:
        spec = obj.get("spec") or {}
        self.name: str = obj["metadata"]["name"]
        self.policy: str = spec.get("policyName", "")
        self.actions = frozenset(spec.get("validationActions") or ())
        match = spec.get("matchResources")
        self.matcher = None if not match else _matcher(match)
        self.param_ref: Mapping[str, Any] | None = spec.get("paramRef")
        self.selects_params = label_test((self.param_ref or {}).get("selector"))


def _matcher(match: Mapping[str, Any]) -> Matcher:
    everything = [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}]
    rules = match.get("resourceRules") or everything
    return Matcher(rules, match, excluded=match.get("excludeResourceRules") or ())


class Policy:
    """A policy with what binds it. Its kind says what else it has."""

    bindings: Sequence[Binding] = ()

    def __init__(self, obj: Mapping[str, Any]) -> None:
        spec = obj.get("spec") or {}
        self.name: str = obj["metadata"]["name"]
        self.matcher = _matcher(spec.get("matchConstraints") or {})
        self.param_kind: Mapping[str, str] | None = spec.get("paramKind")
        self.ignores_failure = spec.get("failurePolicy", "Fail") == "Ignore"
        self.terms = Terms(params=self.param_kind is not None, variables=True)
        self.variables = {
            one["name"]: compiled(one["expression"], partial(self.terms.define, one["name"]))
            for one in spec.get("variables") or ()
        }
        self._conditions = Conditions(spec.get("matchConditions") or (), self.terms)

    def bound(self, bindings: Sequence[Binding]) -> Self:
        """The same policy with these bindings."""
        found = copy(self)
        found.bindings = bindings
        return found

    def concerns(self, values: Mapping[str, Any], at_once: AtOnce) -> bool:
        """Whether its match conditions hold. Raises ConditionsFailed, Unfinished."""
        return not self._conditions or self._conditions.hold(values, self.variables, at_once)
