"""The expressions of a policy, evaluated for one write."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from kinepy_server.cel import CompileError, CostExceeded, EvaluationError, Program
from kinepy_server.cel.off_loop import AtOnce, Unfinished
from kinepy_server.cel.program import CALL_COST_MAX

POLICY_COST_MAX = 10_000_000
"""What all expressions of one policy may cost for one write."""
CONDITIONS_COST_MAX = 2_500_000
"""What all match conditions of one policy or webhook may cost for one write."""


class Failed(Exception):
    """An expression has no value. The message is the original's."""


class OutOfBudget(Failed):
    """All expressions together have used up what they may."""

    def __init__(self) -> None:
        super().__init__(
            "validation failed due to running out of cost budget, no further validation rules will be run"
        )


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression; one that does not compile has a problem in place of a program."""

    text: str
    program: Program | None
    problem: str = ""


def compiled(text: str, compile_: Callable[[str], Program], *, wanted: str = "") -> Expression:
    """An expression of a stored object: it may be one that would not be accepted any more."""
    try:
        program = compile_(text)
    except CompileError as error:
        return Expression(text, None, f"compilation failed: {error}")
    if wanted and str(program.type) != wanted:
        return Expression(text, None, f"must evaluate to {wanted} but got {program.type}")
    return Expression(text, program)


class Variables(dict[str, Any]):
    """The named expressions of a policy, each evaluated when it is first asked for."""

    def __init__(self, evaluators: Mapping[str, Callable[[], Any]]) -> None:
        super().__init__()
        self._evaluators = evaluators

    def __missing__(self, name: str) -> Any:
        value = self._evaluators[name]()
        self[name] = value
        return value

    def __contains__(self, name: object) -> bool:
        return name in self._evaluators


class Run:
    """One evaluation of the expressions of a policy, which pay from one budget. Begins with variables unknown."""

    def __init__(
        self,
        values: Mapping[str, Any],
        variables: Mapping[str, Expression],
        *,
        at_once: AtOnce,
        cost_max: float = POLICY_COST_MAX,
    ) -> None:
        self._left, self._at_once = cost_max, at_once
        self._values = dict(values)
        self._values["variables"] = Variables(
            {name: partial(self._variable, name, one) for name, one in variables.items()}
        )

    def value(self, expression: Expression) -> Any:
        """The value of an expression. Raises Failed, and Unfinished if it takes longer than others should wait."""
        if expression.program is None:
            raise Failed(f"compilation error: {expression.problem}")
        try:
            return self._evaluated(expression.program)
        except (EvaluationError, CostExceeded) as error:
            raise Failed(f"expression '{expression.text}' resulted in error: {error}") from None

    def _variable(self, name: str, expression: Expression) -> Any:
        if expression.program is None:
            raise EvaluationError(f'composited variable "{name}" fails to compile: {expression.problem}')
        try:
            return self._evaluated(expression.program)
        except (EvaluationError, CostExceeded) as error:
            raise EvaluationError(f'composited variable "{name}" fails to evaluate: {error}') from None

    def _evaluated(self, program: Program) -> Any:
        # Questions about rights cost much, but take no time.
        now = self._at_once.left + program.asks_cost
        try:
            value, cost = program.evaluate(self._values, budget=min(CALL_COST_MAX, now))
        except CostExceeded:
            if now < CALL_COST_MAX:
                raise Unfinished from None
            self._pay(CALL_COST_MAX)
            raise
        self._at_once.left -= max(0, cost - program.asks_cost)
        self._pay(cost)
        return value

    def _pay(self, cost: float) -> None:
        self._left -= cost
        if self._left < 0:
            raise OutOfBudget
