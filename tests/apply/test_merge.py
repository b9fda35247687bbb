"""The order of merged lists, and what null and empty values mean."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinepy_server.apply.compare import compare
from kinepy_server.apply.field_set import FieldSet
from kinepy_server.apply.merge import merge
from kinepy_server.apply.owned import reconciled
from kinepy_server.schema.types import Kind, Type
from tests.apply.shapes import METADATA, TEXT, atomic_list, keyed, map_of, object_of, set_of_texts

FREE = Type(Kind.ANY, "free")
ROOT = object_of(
    {
        "metadata": METADATA,
        "tags": set_of_texts(),
        "plain": atomic_list(),
        "labels": map_of(TEXT),
        "free": FREE,
    }
)
TEXTS = st.lists(st.sampled_from("abcdef"), max_size=5, unique=True)


@pytest.mark.parametrize(
    ("live", "applied", "result"),
    [("c", "s", "cs"), ("ab", "bc", "abc"), ("abc", "ca", "bca"), ("ab", "xb", "axb"), ("", "ba", "ba")],
)
def test_what_only_the_object_has_keeps_its_place_before_what_both_have(
    live: str, applied: str, result: str
) -> None:
    assert merge(set_of_texts(), [*live], [*applied]) == [*result]


@settings(deadline=None)
@given(TEXTS, TEXTS)
def test_both_orders_are_kept(live: list[str], applied: list[str]) -> None:
    result = merge(set_of_texts(), live, applied)
    assert sorted(result) == sorted({*live, *applied})
    assert [name for name in result if name in applied] == applied
    assert [name for name in result if name not in applied] == [name for name in live if name not in applied]


@pytest.mark.parametrize(
    ("live", "applied", "result"),
    [
        ({"labels": {"a": "1"}}, {"labels": None}, {"labels": {"a": "1"}}),
        ({"labels": {"a": "1"}}, {"labels": {}}, {"labels": {"a": "1"}}),
        ({"labels": {"a": "1"}}, {"labels": {"a": None}}, {"labels": {"a": None}}),
        ({"plain": ["a"]}, {"plain": []}, {"plain": []}),
        ({"tags": ["a"]}, {"tags": []}, {"tags": ["a"]}),
        ({"free": {"a": {"b": 1}}}, {"free": {"a": {"c": [2]}}}, {"free": {"a": {"b": 1, "c": [2]}}}),
        ({"free": {"a": 1}}, {"free": "x"}, {"free": "x"}),
    ],
)
def test_nulls_and_empty_values(live: Any, applied: Any, result: Any) -> None:
    assert merge(ROOT, live, applied) == result


@pytest.mark.parametrize(
    ("old", "new", "written", "removed"),
    [
        ({}, {"labels": {}}, {"f:labels": {}}, {}),
        ({"labels": None}, {"labels": {"a": "1"}}, {"f:labels": {"f:a": {}}}, {}),
        ({}, {"labels": {"a": "1"}}, {"f:labels": {".": {}, "f:a": {}}}, {}),
        ({"labels": {"a": "1"}}, {}, {}, {"f:labels": {".": {}, "f:a": {}}}),
        ({"tags": ["a", "a"]}, {"tags": ["a"]}, {"f:tags": {'v:"a"': {}}}, {}),
        ({"free": {"a": 1}}, {"free": "x"}, {"f:free": {}}, {"f:free": {"f:a": {}}}),
        ({"free": {"a": [1]}}, {"free": {"a": [2]}}, {"f:free": {"f:a": {}}}, {}),
    ],
)
def test_changes(old: Any, new: Any, written: Any, removed: Any) -> None:
    found = compare(ROOT, {"metadata": {}, **old}, {"metadata": {}, **new})
    assert (found.written, found.removed) == (written, removed)


def test_elements_are_merged_by_their_keys() -> None:
    of = keyed({"a": TEXT, "b": TEXT})
    live, applied = [{"key": "x", "a": "1"}, {"key": "y"}], [{"key": "y", "b": "3"}, {"key": "x", "b": "2"}]
    assert merge(of, live, applied) == [{"key": "y", "b": "3"}, {"key": "x", "a": "1", "b": "2"}]


def test_what_has_become_atomic_is_owned_as_a_whole() -> None:
    fields: FieldSet = {
        "f:plain": {'v:"a"': {}},
        "f:labels": {"f:a": {}},
        "f:tags": {},
        "f:gone": {"f:x": {}},
    }
    assert reconciled(ROOT, fields) == {**fields, "f:plain": {}}
