"""Structural schemas: what is quick agrees with what tells, and doing a thing twice changes nothing."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinepy_server.schema.patterns import BadPattern, matcher
from kinepy_server.schema.structural import Structural
from kinepy_server.schema.structural_check import checker
from kinepy_server.schema.structural_errors import schema_errors

NAMES = st.sampled_from(["a", "b", "c", "d"])
SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.sampled_from(["", "x", "xy", "2020-01-01"]),
    st.floats(-3, 3),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=12,
)
FLAGS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries({}, optional={"nullable": st.booleans()})
TEXTS = st.fixed_dictionaries(
    {"type": st.just("string")},
    optional={
        "maxLength": st.integers(0, 2),
        "minLength": st.integers(0, 2),
        "pattern": st.just("^x"),
        "format": st.sampled_from(["date", "frob"]),
        "enum": st.just(["x", "xy"]),
        "default": st.just("x"),
    },
)
NUMBERS = st.fixed_dictionaries(
    {"type": st.sampled_from(["integer", "number"])},
    optional={
        "minimum": st.sampled_from([0, 0.5]),
        "maximum": st.sampled_from([2, 2.5]),
        "exclusiveMinimum": st.booleans(),
        "exclusiveMaximum": st.booleans(),
        "multipleOf": st.sampled_from([2, 0.5]),
        "format": st.just("int32"),
        "default": st.just(1),
    },
)
OTHERS = st.sampled_from(
    [
        {"type": "boolean"},
        {"x-kubernetes-int-or-string": True},
        {"x-kubernetes-preserve-unknown-fields": True},
        {"type": "object", "additionalProperties": True},
        {"type": "string", "not": {"enum": ["x"]}},
        {"type": "integer", "anyOf": [{"minimum": 2}, {"maximum": 0}]},
    ]
)


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {"type": st.just("object")},
        optional={
            "properties": st.dictionaries(NAMES, inner, max_size=4),
            "required": st.lists(NAMES, max_size=2),
            "maxProperties": st.integers(0, 3),
            "x-kubernetes-preserve-unknown-fields": st.just(True),
            "default": st.just({}),
        },
    )


def _lists(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {"type": st.just("array"), "items": inner},
        optional={"maxItems": st.integers(0, 2), "nullable": st.booleans()},
    )


def _maps(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({"type": st.just("object"), "additionalProperties": inner})


LEAVES = st.one_of(TEXTS, NUMBERS, OTHERS)
UNFLAGGED: st.SearchStrategy[Any] = st.recursive(
    LEAVES, lambda inner: st.one_of(_objects(inner), _lists(inner), _maps(inner)), max_leaves=8
)
SCHEMAS = st.builds(lambda schema, flags: {**schema, **flags}, UNFLAGGED, FLAGS)


def _settled(structural: Structural, value: Any) -> Any:
    settled = copy.deepcopy(value)
    structural.prune(settled)
    structural.default(settled)
    return settled


@settings(deadline=None)
@given(SCHEMAS, VALUES)
def test_the_quick_check_agrees_with_the_errors(schema: dict[str, Any], value: Any) -> None:
    assert checker(schema)(value) is (not schema_errors(schema, value))


@settings(deadline=None)
@given(SCHEMAS, VALUES)
def test_pruning_and_defaulting_twice_changes_nothing(schema: dict[str, Any], value: Any) -> None:
    structural = Structural({"type": "object", "properties": {"spec": schema}})
    once = _settled(structural, {"spec": value})
    assert _settled(structural, once) == once


@settings(deadline=None)
@given(SCHEMAS, VALUES)
def test_what_was_pruned_and_defaulted_can_be_judged(schema: dict[str, Any], value: Any) -> None:
    structural = Structural({"type": "object", "properties": {"spec": schema}})
    settled = _settled(structural, {"spec": value})
    structural.errors(settled)
    structural.repeated(settled)


@settings(deadline=None)
@given(SCHEMAS, VALUES)
def test_an_unchanged_object_is_never_refused(schema: dict[str, Any], value: Any) -> None:
    structural = Structural({"type": "object", "properties": {"spec": schema}})
    assert structural.errors({"spec": value}, {"spec": value}) == []


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(", "error parsing regexp: missing closing ): `(`"),
        ("*a", "error parsing regexp: missing argument to repetition operator: `*`"),
        ("(?=a)", "error parsing regexp: invalid or unsupported Perl syntax: `(?=`"),
        ("\\", "error parsing regexp: trailing backslash at end of expression: ``"),
    ],
)
def test_bad_patterns_are_told_in_the_originals_words(pattern: str, text: str) -> None:
    with pytest.raises(BadPattern) as raised:
        matcher(pattern)
    assert str(raised.value) == text


def test_keyed_elements_may_keep_what_was_wrong() -> None:
    item = {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}
    listed = {
        "type": "array",
        "items": item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
    }
    structural = Structural({"type": "object", "properties": {"l": listed}})
    old = {"l": [{"k": "a", "v": "wrong"}, {"k": "b", "v": 1}]}
    new = {"l": [{"k": "c", "v": 1}, {"k": "a", "v": "wrong"}]}
    assert structural.errors(new, old) == []
    assert [error.field for error in structural.errors({"l": [{"k": "b", "v": "new"}]}, old)] == ["l[0].v"]


def test_every_part_of_a_schema_is_compiled_once() -> None:
    deep: dict[str, Any] = {"type": "integer", "minimum": 0}
    good: Any = 1
    bad: Any = -1
    for _ in range(60):  # compiled twice at each level it would never end
        deep = {"type": "object", "properties": {"a": {"type": "array", "items": deep}}}
        good, bad = {"a": [good]}, {"a": [bad]}
    is_valid = checker(deep)
    assert is_valid(good) and not is_valid(bad)
