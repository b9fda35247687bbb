"""An expression, compiled once and evaluated many times."""

from collections.abc import Mapping
from typing import Any

from kinepy_server.cel.check import Checked, MadeTypes, check
from kinepy_server.cel.errors import CompileError, CostExceeded, EvaluationError, Issue
from kinepy_server.cel.evaluate import evaluator
from kinepy_server.cel.libraries.authorization import CHECK_COST, FUNCTIONS
from kinepy_server.cel.nodes import Call, Node, below
from kinepy_server.cel.parser import parse
from kinepy_server.cel.static_cost import static_cost
from kinepy_server.cel.types import Type

CALL_COST_MAX = 1_000_000
"""What one evaluation may cost."""


class Program:
    """A checked expression over named variables."""

    __slots__ = ("_cost", "_evaluate", "_names", "asks_cost", "checked")

    def __init__(self, checked: Checked, names: tuple[str, ...]) -> None:
        self.checked = checked
        self._names = names
        self._evaluate = evaluator(checked.node)
        self._cost = static_cost(checked.node)
        self.asks_cost = CHECK_COST * _questions(checked.node)
        """What its questions about rights cost, each asked once: they cost much, but take no time."""

    @property
    def type(self) -> Type:
        """The type of its value."""
        return self.checked.type

    def uses(self, name: str) -> bool:
        """Whether its value may depend on a variable."""
        return name in self.checked.used

    def evaluate(self, values: Mapping[str, Any], *, budget: float = CALL_COST_MAX) -> tuple[Any, float]:
        """The value and what it cost. Raises EvaluationError, CostExceeded."""
        frame: list[Any] = [None] * self.checked.slots
        frame[0] = budget - self._cost
        if frame[0] < 0:
            raise CostExceeded
        for slot, name in enumerate(self._names, 1):
            frame[slot] = values.get(name)
        try:
            value = self._evaluate(frame)
        except RecursionError:
            raise EvaluationError("expression recursion limit exceeded") from None
        return value, budget - frame[0]


_QUESTIONS = frozenset(id(overload) for overload in FUNCTIONS if overload.name == "check")


def _questions(node: Node) -> int:
    own = isinstance(node, Call) and any(id(overload) in _QUESTIONS for overload in node.overloads)
    return own + sum(map(_questions, below(node)))


def compile_expression(
    source: str, variables: Mapping[str, Type], *, made: MadeTypes = lambda name: None
) -> Program:
    """Parse and check an expression; `made` knows the types of objects that it may make. Raises CompileError."""
    try:
        return Program(check(source, parse(source), variables, made=made), tuple(variables))
    except RecursionError:
        raise CompileError(source, [Issue(0, "expression recursion limit exceeded")]) from None
