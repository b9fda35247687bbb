"""Match conditions: expressions that must all be true for a webhook or policy to be asked."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kinepy_server.cel import CompileError, CostExceeded, EvaluationError, Program


class ConditionsFailed(Exception):
    """A condition could not be evaluated, and none was false."""


class Conditions:
    """The conditions of one webhook or policy."""

    def __init__(self, conditions: Sequence[Mapping[str, Any]], compiled: Callable[[str], Program]) -> None:
        self._programs = [(one.get("name", ""), _compiled(one, compiled)) for one in conditions]

    def hold(self, values: Mapping[str, Any]) -> bool:
        """Whether all are true; one that is false decides before any error. Raises ConditionsFailed."""
        problems = []
        for name, program in self._programs:
            try:
                if isinstance(program, str):
                    raise EvaluationError(program)
                if program.evaluate(values)[0] is not True:
                    return False
            except (EvaluationError, CostExceeded) as error:
                problems.append(f"expression '{name}' resulted in error: {error}")
        if problems:
            raise ConditionsFailed(", ".join(problems))
        return True


def _compiled(condition: Mapping[str, Any], compiled: Callable[[str], Program]) -> Program | str:
    try:
        return compiled(condition.get("expression", ""))
    except CompileError as error:
        return f"compilation error: compilation failed: {error}"
