"""Match conditions: expressions that must all be true for a webhook or policy to be asked."""

from collections.abc import Mapping, Sequence
from typing import Any

from kinepy_server.cel.off_loop import AtOnce
from kinepy_server.cel.terms import Terms
from kinepy_server.dynamic_admission.expressions import (
    CONDITIONS_COST_MAX,
    Expression,
    Failed,
    OutOfBudget,
    Run,
    compiled,
)


class ConditionsFailed(Exception):
    """A condition could not be evaluated, and none was false."""


class Conditions:
    """The conditions of one webhook or policy."""

    def __init__(self, conditions: Sequence[Mapping[str, Any]], terms: Terms) -> None:
        self._expressions = [
            compiled(one.get("expression", ""), terms.compile, wanted="bool") for one in conditions
        ]

    def __bool__(self) -> bool:
        return bool(self._expressions)

    def hold(self, values: Mapping[str, Any], variables: Mapping[str, Expression], at_once: AtOnce) -> bool:
        """Whether all are true; one that is false decides before any error. Raises ConditionsFailed, Unfinished."""
        run = Run(values, variables, at_once=at_once, cost_max=CONDITIONS_COST_MAX)
        problems: list[str] = []
        for expression in self._expressions:
            try:
                if run.value(expression) is not True:
                    return False
            except OutOfBudget as error:
                raise ConditionsFailed(str(error)) from None
            except Failed as error:
                problems.append(str(error))
        if problems:
            texts = list(dict.fromkeys(problems))
            raise ConditionsFailed(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
        return True
