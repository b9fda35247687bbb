"""What was stored before its schema became stricter may stay as it is, wherever it is, whatever refuses it."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinepy_server.custom.strategy import CustomStrategy
from kinepy_server.schema.structural import Structural
from tests.custom.definitions import WIDGETS, Crds, spec_schema, version, widget
from tests.custom.test_structural import LEAVES, NAMES, VALUES
from tests.http.writing import Api

RULE = "x-kubernetes-validations"
NEVER = [{"rule": "false"}]
TEXT = {"type": "string"}


def _ruled(schema: dict[str, Any], rules: list[dict[str, str]]) -> dict[str, Any]:
    return {**schema, RULE: rules} if rules and schema.get("type") else schema


def _with_rules(schemas: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(_ruled, schemas, st.sampled_from([[], NEVER]))


def _keyed(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(
        lambda value: {
            "type": "array",
            "items": {"type": "object", "properties": {"k": TEXT, "v": value}, "required": ["k"]},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
        },
        inner,
    )


def _composed(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return _with_rules(
        st.one_of(
            st.builds(
                lambda properties, needed: {
                    "type": "object",
                    "properties": properties,
                    "required": needed,
                    "x-kubernetes-preserve-unknown-fields": True,
                },
                st.dictionaries(NAMES, inner, max_size=3),
                st.lists(NAMES, max_size=2, unique=True),
            ),
            st.builds(
                lambda items, kind: {
                    "type": "array",
                    "items": items,
                    "maxItems": 1,
                    "x-kubernetes-list-type": kind,
                },
                inner,
                st.sampled_from(["atomic", "set"]),
            ),
            _keyed(inner),
            st.builds(lambda values: {"type": "object", "additionalProperties": values}, inner),
        )
    )


SCHEMAS = st.recursive(_with_rules(LEAVES), _composed, max_leaves=6)
KEYED = st.lists(st.fixed_dictionaries({"k": st.sampled_from(["a", "b"]), "v": VALUES}), max_size=3)
OBJECTS = st.one_of(VALUES, st.dictionaries(NAMES, st.one_of(VALUES, KEYED), max_size=4), KEYED)


def _strategy(schema: dict[str, Any]) -> CustomStrategy:
    structural = Structural({"type": "object", "properties": {"spec": schema, "other": {"type": "string"}}})
    return CustomStrategy(lambda: structural, has_status=False, replicas_errors=None)


def _object(spec: Any, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "a.b/v1",
        "kind": "C",
        "metadata": {"name": "c"},
        "spec": copy.deepcopy(spec),
        **more,
    }


@settings(deadline=None)
@given(SCHEMAS, OBJECTS)
def test_an_object_that_has_not_changed_is_never_refused(schema: dict[str, Any], spec: Any) -> None:
    strategy = _strategy(schema)
    old, new = _object(spec), _object(spec)
    for obj in (old, new):
        strategy.default(obj)
    assert [error for error in strategy.validate_update(new, old, subresource="") if error.reason] == []


@settings(deadline=None)
@given(SCHEMAS, OBJECTS)
def test_a_change_elsewhere_does_not_bring_it_up(schema: dict[str, Any], spec: Any) -> None:
    strategy = _strategy(schema)
    old, new = _object(spec, other="x"), _object(spec, other="y")
    for obj in (old, new):
        strategy.default(obj)
    assert [error for error in strategy.validate_update(new, old, subresource="") if error.reason] == []


@settings(deadline=None)
@given(SCHEMAS, OBJECTS, OBJECTS)
def test_any_change_can_be_judged(schema: dict[str, Any], before: Any, after: Any) -> None:
    strategy = _strategy(schema)
    old, new = _object(before), _object(after)
    for obj in (old, new):
        strategy.default(obj)
    for error in (*strategy.validate_create(new), *strategy.validate_update(new, old, subresource="")):
        assert error.text


@pytest.mark.parametrize("kind", ["atomic", "set"])
async def test_a_rule_of_elements_spares_a_list_that_has_not_changed(kind: str, api: Api, crds: Crds) -> None:
    listed = {
        "type": "array",
        "maxItems": 9,
        "items": {**TEXT, "maxLength": 9},
        "x-kubernetes-list-type": kind,
    }
    await crds.define(version(schema=spec_schema(l=listed, a=TEXT)))
    await api.post(WIDGETS, widget(spec={"l": ["bad", "good"], "a": "x"}))
    rule = [{"rule": "self != 'bad'", "message": "not this one"}]
    await crds.set_schema(f"/properties/spec/properties/l/items/{RULE}", rule)
    spared = await api.patch(f"{WIDGETS}/w", {"spec": {"a": "y"}})
    told = '299 - "spec.l[0]: Invalid value: \\"bad\\": not this one"'
    assert (spared.code, spared.header("warning")) == (200, [told])
    refused = await api.patch(f"{WIDGETS}/w", {"spec": {"l": ["bad", "good", "more"]}})
    assert (refused.code, refused.body["details"]["causes"][0]["field"]) == (422, "spec.l[0]")


async def test_elements_with_keys_are_spared_one_by_one(api: Api, crds: Crds) -> None:
    item = {"type": "object", "required": ["k"], "properties": {"k": TEXT, "n": {"type": "integer"}}}
    keys = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    listed = {"type": "array", "maxItems": 9, "items": item, **keys}
    await crds.define(version(schema=spec_schema(l=listed)))
    old = [{"k": "a", "n": 50}, {"k": "b", "n": 1}]
    await api.post(WIDGETS, widget(spec={"l": old}))
    await crds.set_schema("/properties/spec/properties/l/items/properties/n/maximum", 10)
    moved = [{"k": "c", "n": 2}, {"k": "b", "n": 3}, {"k": "a", "n": 50}]
    assert (await api.patch(f"{WIDGETS}/w", {"spec": {"l": moved}})).code == 200
    refused = await api.patch(f"{WIDGETS}/w", {"spec": {"l": [{"k": "a", "n": 51}]}})
    assert (refused.code, refused.body["details"]["causes"][0]["field"]) == (422, "spec.l[0].n")
