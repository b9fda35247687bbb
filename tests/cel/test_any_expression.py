"""Whatever an expression says and whatever it is given, it has a value or says why it has none."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinepy_server.cel import CompileError, CostExceeded, EvaluationError, compile_expression
from kinepy_server.cel.functions import functions
from kinepy_server.cel.types import DYN

DATA = {"a": 1, "l": [3, 1, 2], "m": {"a": "b", "k": [1]}, "s": "héllo", "n": None, "f": 1.5}
ATOMS = [
    *(f"self.{name}" for name in DATA), "self", "1", "2u", "1.5", "'x'", "b'x'", "true", "null", "[]", "{}", "int",
    "optional.of(self.a)", "optional.none()", "duration('1s')", "timestamp('2020-01-01T00:00:00Z')",
    "quantity('1')", "ip('1.1.1.1')", "cidr('1.0.0.0/8')", "url('http://a/')", "semver('1.0.0')", "format.uri()",
]  # fmt: skip
OPERATORS = ["+", "-", "*", "/", "%", "==", "!=", "<", "<=", "in", "&&", "||"]
MACROS = ["all", "exists", "map", "filter", "exists_one", "sortBy", "optMap", "optFlatMap"]
ENTRIES = ["all", "exists", "transformList", "transformMap", "transformMapEntry"]
METHODS = sorted({name.rpartition(".")[2] for name in functions()})
SHAPES = [
    *(f"(dyn({{0}}) {operator} dyn({{1}}))" for operator in OPERATORS),
    *(f"dyn({{0}}).{method}()" for method in METHODS),
    *(f"dyn({{0}}).{method}(dyn({{1}}))" for method in METHODS),
    *(f"dyn({{0}}).{macro}(x, {{1}})" for macro in MACROS),
    *(f"dyn({{0}}).{macro}(i, x, {{1}})" for macro in ENTRIES),
    "(dyn({0}) ? dyn({1}) : 1)", "dyn({0})[{1}]", "dyn({0})[?{1}]", "dyn({0}).?a", "has(dyn({0}).a)",
    "[?dyn({0})]", "{{?dyn({0}): dyn({1})}}", "{{dyn({0}): 1}}",
]  # fmt: skip


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Larger expressions of smaller ones."""
    return st.builds(lambda shape, one, two: shape.format(one, two), st.sampled_from(SHAPES), inner, inner)


@settings(max_examples=300, deadline=None)
@given(st.recursive(st.sampled_from(ATOMS), grown, max_leaves=6))
def test_an_expression_fails_only_in_ways_that_are_told(text: str) -> None:
    try:
        compile_expression(text, {"self": DYN}).evaluate({"self": DATA})
    except (CompileError, EvaluationError, CostExceeded):
        pass


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="self.a()[]{}+-*/%<>=!&|?:,'\"\\`0123x \n", max_size=40))
def test_any_text_compiles_or_says_why_not(text: str) -> None:
    try:
        compile_expression(text, {"self": DYN})
    except CompileError:
        pass


def test_an_expression_cannot_fill_the_memory() -> None:
    text = "self.replace('a', self.replace('a', self)).replace('a', self)"
    program = compile_expression(text, {"self": DYN})
    with pytest.raises(CostExceeded):
        program.evaluate({"self": "a" * 10_000})
