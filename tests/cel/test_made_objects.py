"""Objects that expressions make: their types, their fields, and what they are as JSON."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinepy_server.cel import CompileError, EvaluationError, compile_expression
from kinepy_server.cel.made_json import as_json, misnamed
from kinepy_server.cel.objects import made_type
from kinepy_server.cel.types import DYN


def value(text: str, **variables: Any) -> Any:
    """What an expression makes."""
    program = compile_expression(text, dict.fromkeys(variables, DYN), made=made_type)
    return program.evaluate(variables)[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Object{}", {}),
        ("Object{a: 1, b: Object.b{c: 'x',},}", {"a": 1, "b": {"c": "x"}}),
        ("Object{l: [Object.l{a: 1u}, Object.l{}], m: {'k': Object.m{b: true}}}",
         {"l": [{"a": 1}, {}], "m": {"k": {"b": True}}}),
        ("Object{?a: optional.of(1), ?b: optional.none()}", {"a": 1}),
        ("Object{a: optional.none(), b: null}", {"a": None, "b": None}),
        ("Object{d: duration('90s'), t: timestamp('2024-01-02T03:04:05Z'), y: b'hi'}",
         {"d": "90s", "t": "2024-01-02T03:04:05Z", "y": "aGk="}),
        ("JSONPatch{op: 'add', path: '/a', value: {'b': 1}}", {"op": "add", "path": "/a", "value": {"b": 1}}),
    ],
)  # fmt: skip
def test_made_objects_are_json(text: str, expected: Any) -> None:
    assert as_json(value(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Object{a: 1} == Object{a: 1}", True),
        ("dyn(Object.a{}) == Object.b{}", False),
        ("dyn(Object{a: 1}) == {'a': 1} || dyn({'a': 1}) == Object{a: 1}", False),
        ("JSONPatch{op: 'add'} != JSONPatch{op: 'remove'}", True),
        ("has(JSONPatch{op: 'x'}.op) && !has(JSONPatch{op: ''}.op) && !has(JSONPatch{}.value)", True),
        ("JSONPatch{}.path", ""),
        ("type(Object.a{})", "Object.a"),
        ("jsonpatch.escapeKey('k8s.io/x~y')", "k8s.io~1x~0y"),
    ],
)
def test_made_objects_are_compared_and_read(text: str, expected: Any) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Foo{}", "undeclared reference to 'Foo' (in container '')"),
        ("Objectx{}", "undeclared reference to 'Objectx' (in container '')"),
        ("JSONPatch{x: 1}", "undefined field 'x'"),
        ("JSONPatch{op: 1}", "expected type of field 'op' is 'string' but provided type is 'int'"),
        ("Object{?a: 1}", "expected type 'optional_type(int)' but found 'int'"),
        ("JSONPatch{}.x", "undefined field 'x'"),
        ("1{}", "Syntax error: mismatched input '{' expecting <EOF>"),
    ],
)
def test_what_cannot_be_made_is_told(text: str, why: str) -> None:
    with pytest.raises(CompileError) as caught:
        value(text)
    assert f": {why}\n" in str(caught.value)


def test_rules_make_nothing() -> None:
    for text in ("Object{}", "JSONPatch{}", "jsonpatch.escapeKey('a')"):
        with pytest.raises(CompileError, match="undeclared reference"):
            compile_expression(text, {})


def test_an_operation_of_no_text_has_no_value() -> None:
    with pytest.raises(EvaluationError, match="unexpected type int64 for JSONPatchType 'op' field"):
        value("JSONPatch{op: a}", a=1)


def test_a_map_with_other_keys_than_texts_is_no_json() -> None:
    with pytest.raises(EvaluationError, match='map key "1" is of type int, not string'):
        as_json(value("Object{m: {1: 2}}"))


def test_objects_are_named_for_their_place() -> None:
    assert not misnamed(value("Object{a: [Object.a{b: {'x': Object.a.b{}}}]}"))
    problem = misnamed(value("Object{a: [Object.b{}], c: {'x': Object.x{}}}"))
    tail = "which matches field name path from root Object type"
    assert problem == (
        f'unexpected type name "Object.b", expected "Object.a", {tail}\n'
        f'unexpected type name "Object.x", expected "Object.c", {tail}'
    )


def test_numbers_without_end_are_no_json() -> None:
    with pytest.raises(EvaluationError, match=r"json: unsupported value: \+Inf"):
        as_json(value("Object{a: 1.0 / 0.0}"))


def test_what_is_too_deep_is_no_json() -> None:
    deep: Any = 1
    for _ in range(1000):
        deep = {"a": deep}
    with pytest.raises(EvaluationError, match="exceeded max depth"):
        as_json(value("Object{a: x}", x=deep))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON)
def test_what_came_from_json_becomes_the_same_json(given_value: Any) -> None:
    made = as_json(value("Object{a: x}", x=given_value))
    assert made == {"a": given_value}
