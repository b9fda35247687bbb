"""What can go wrong with an expression: when it is compiled, and when it is evaluated."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Issue:
    """A problem of an expression at an offset into its text."""

    offset: int
    text: str


class CompileError(Exception):
    """The expression is not valid. The message shows each problem with the line it is in."""

    def __init__(self, source: str, issues: Sequence[Issue]) -> None:
        super().__init__("\n".join(_shown(source, issue) for issue in issues))
        self.issues = issues


class EvaluationError(Exception):
    """The expression has no value for its input, such as `no such key: a`."""


class CostExceeded(Exception):
    """The evaluation was ended because it cost more than it may."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


def no_such_overload() -> EvaluationError:
    """The operands are of types that the operation is not defined for."""
    return EvaluationError("no such overload")


def _shown(source: str, issue: Issue) -> str:
    before = source[: issue.offset]
    line_number = before.count("\n") + 1
    column = issue.offset - (before.rfind("\n") + 1)
    line = source.split("\n")[line_number - 1]
    return f"ERROR: <input>:{line_number}:{column + 1}: {issue.text}\n | {line}\n | {'.' * column}^"
