"""ValidatingAdmissionPolicies and their bindings: what they find wrong with a write."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from kinepy_server.cel import CompileError, CostExceeded, EvaluationError, Program
from kinepy_server.dynamic_admission.conditions import Conditions, ConditionsFailed
from kinepy_server.dynamic_admission.matching import Matcher, label_test
from kinepy_server.dynamic_admission.variables import Variables, compiled_for_policy

POLICY_COST_MAX = 10_000_000
"""What all expressions of one policy may cost for one write."""
DEFAULT_REASON = "Invalid"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a policy found wrong."""

    message: str
    reason: str = DEFAULT_REASON


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
    """A policy with what binds it."""

    def __init__(self, obj: Mapping[str, Any], bindings: Sequence[Binding]) -> None:
        spec = obj.get("spec") or {}
        self.name: str = obj["metadata"]["name"]
        self.bindings = bindings
        self.matcher = _matcher(spec.get("matchConstraints") or {})
        self.param_kind: Mapping[str, str] | None = spec.get("paramKind")
        self.ignores_failure = spec.get("failurePolicy", "Fail") == "Ignore"
        self._conditions = Conditions(spec.get("matchConditions") or (), compiled_for_policy)
        self._variables = {one["name"]: _compiled(one["expression"]) for one in spec.get("variables") or ()}
        self._validations = [_Validation(one) for one in spec.get("validations") or ()]

    def findings(self, values: Mapping[str, Any]) -> list[Finding]:
        """What is wrong with a write, whose variables and parameters these are."""
        run = _Run(values, self._variables)
        try:
            if not self._conditions.hold(run.values):
                return []
        except ConditionsFailed as error:
            return self.failed(str(error))
        found: list[Finding] = []
        for validation in self._validations:
            try:
                problem = validation.finding(run)
            except (EvaluationError, CostExceeded) as error:
                found += self.failed(f"expression '{validation.text}' resulted in error: {error}")
                continue
            if problem is not None:
                found.append(problem)
        return found

    def failed(self, message: str) -> list[Finding]:
        """What follows from the policy's own failure."""
        return [] if self.ignores_failure else [Finding(message)]


def _compiled(text: str) -> Program | str:
    try:
        return compiled_for_policy(text)
    except CompileError as error:
        return f"compilation error: compilation failed: {error}"


class _Run:
    """One evaluation of a policy; all its expressions pay from one budget."""

    def __init__(self, values: Mapping[str, Any], variables: Mapping[str, Program | str]) -> None:
        self._left: float = POLICY_COST_MAX
        self.values = dict(values)
        self.values["variables"] = Variables(
            {name: partial(self.evaluate, program) for name, program in variables.items()}
        )

    def evaluate(self, program: Program | str) -> Any:
        """The value of an expression. Raises EvaluationError, CostExceeded."""
        if isinstance(program, str):
            raise EvaluationError(program)
        if self._left <= 0:
            raise CostExceeded
        value, cost = program.evaluate(self.values)
        self._left -= cost
        return value


class _Validation:
    """One of a policy's validations."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.text: str = spec.get("expression", "")
        self._program = _compiled(self.text)
        self._message: str = spec.get("message", "")
        self._reason: str = spec.get("reason") or DEFAULT_REASON
        expression = spec.get("messageExpression", "")
        self._message_program = _compiled(expression) if expression else None

    def finding(self, run: _Run) -> Finding | None:
        """What is wrong; None when nothing is. Raises EvaluationError, CostExceeded."""
        if run.evaluate(self._program) is True:
            return None
        return Finding(self._message_of(run), self._reason)

    def _message_of(self, run: _Run) -> str:
        if self._message_program is not None:
            try:
                text = run.evaluate(self._message_program)
            except (EvaluationError, CostExceeded):
                text = None
            if isinstance(text, str) and text.strip() and "\n" not in text.strip():
                return text.strip()
        return self._message or f"failed expression: {self.text.strip()}"
