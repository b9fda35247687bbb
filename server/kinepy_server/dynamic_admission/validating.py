"""ValidatingAdmissionPolicies: what they find wrong with a write."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from kinepy_server.cel.off_loop import AtOnce
from kinepy_server.cel.terms import Terms
from kinepy_server.dynamic_admission.conditions import ConditionsFailed
from kinepy_server.dynamic_admission.expressions import Failed, OutOfBudget, Run, compiled
from kinepy_server.dynamic_admission.policy import Policy

DEFAULT_REASON = "Invalid"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a policy found wrong."""

    message: str
    reason: str = DEFAULT_REASON


class ValidatingPolicy(Policy):
    """A policy that judges."""

    def __init__(self, obj: Mapping[str, Any]) -> None:
        super().__init__(obj)
        spec = obj.get("spec") or {}
        self._validations = [_Validation(one, self.terms) for one in spec.get("validations") or ()]

    def findings(self, values: Mapping[str, Any], at_once: AtOnce) -> list[Finding]:
        """What is wrong with a write, whose variables and parameters these are. Raises Unfinished."""
        try:
            if not self.concerns(values, at_once):
                return []
        except ConditionsFailed as error:
            return self.failed(str(error))
        run = Run(values, self.variables, at_once=at_once)
        found: list[Finding] = []
        for validation in self._validations:
            try:
                problem = validation.finding(run)
            except OutOfBudget as error:
                return self.failed(str(error))
            except Failed as error:
                found += self.failed(str(error))
                continue
            if problem is not None:
                found.append(problem)
        return found

    def failed(self, message: str) -> list[Finding]:
        """What follows from the policy's own failure."""
        return [] if self.ignores_failure else [Finding(message)]


class _Validation:
    """One of a policy's validations."""

    def __init__(self, spec: Mapping[str, Any], terms: Terms) -> None:
        self._expression = compiled(spec.get("expression", ""), terms.compile, wanted="bool")
        self._message: str = spec.get("message", "")
        self._reason: str = spec.get("reason") or DEFAULT_REASON
        text = spec.get("messageExpression", "")
        self._message_expression = (
            compiled(text, partial(terms.compile, authorizer=False), wanted="string") if text else None
        )

    def finding(self, run: Run) -> Finding | None:
        """What is wrong; None when nothing is. Raises Failed, Unfinished."""
        if run.value(self._expression) is True:
            return None
        return Finding(self._message_of(run), self._reason)

    def _message_of(self, run: Run) -> str:
        if self._message_expression is not None:
            try:
                text = run.value(self._message_expression)
            except OutOfBudget:
                raise
            except Failed:
                text = None
            if isinstance(text, str) and text.strip() and "\n" not in text.strip():
                return text.strip()
        return self._message or f"failed expression: {self._expression.text.strip()}"
