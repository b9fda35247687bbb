"""Rules of schemas: what they see, what their failures say, and that no rule runs for ever."""

from typing import Any

import pytest

from kinepy_server.cel import CostExceeded, check_rules, compile_expression, compile_rules
from kinepy_server.cel.types import DYN

Json = dict[str, Any]


def schema(rules: list[Json], **properties: Json) -> Json:
    """The schema of objects whose spec has these properties and rules."""
    spec = {"type": "object", "properties": properties, "x-kubernetes-validations": rules}
    return {"type": "object", "properties": {"spec": spec}}


def said(rule: str | Json, spec: Json, old: Json | None = None, **properties: Json) -> list[str]:
    """What one rule says of an object."""
    rules = compile_rules(schema([{"rule": rule} if isinstance(rule, str) else rule], **properties))
    errors = rules.validate({"spec": spec}, None if old is None else {"spec": old})
    return [f"{error.field}: {error.text}" for error in errors if error.reason]


SET: Json = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}
DATE = {"type": "string", "format": "date"}
NUMBER, TEXT = {"type": "integer"}, {"type": "string", "maxLength": 10}


def test_a_rule_that_holds_says_nothing() -> None:
    assert said("self.a < 3", {"a": 2}, a=NUMBER) == []


def test_a_failed_rule_says_its_message_else_its_text() -> None:
    assert said("self.a < 3", {"a": 3}, a=NUMBER) == ["spec: Invalid value: failed rule: self.a < 3"]
    rule = {"rule": "self.a < 3", "message": "small only"}
    assert said(rule, {"a": 3}, a=NUMBER) == ["spec: Invalid value: small only"]


def test_a_message_expression_is_evaluated_and_falls_back_to_the_message() -> None:
    rule = {"rule": "self.a < 3", "messageExpression": "string(self.a) + ' is big'", "fieldPath": ".a"}
    assert said(rule, {"a": 3}, a=NUMBER) == ["spec.a: Invalid value: 3 is big"]
    rule = {"rule": "self.a < 3", "messageExpression": "self.b", "message": "plain"}
    assert said(rule, {"a": 3}, a=NUMBER, b=TEXT) == ["spec: Invalid value: plain"]


def test_an_error_of_evaluation_names_the_rule() -> None:
    assert said("self.a < 3", {}, a=NUMBER) == [
        'spec: Invalid value: "object": no such key: a evaluating rule: self.a < 3'
    ]


def test_transition_rules_run_only_where_there_was_a_value() -> None:
    rules = compile_rules(
        {
            "type": "object",
            "properties": {"n": {**TEXT, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}},
        }
    )
    assert rules.validate({"n": "a"}) == []
    assert rules.validate({"n": "a"}, {}) == []
    assert [error.field for error in rules.validate({"n": "a"}, {"n": "b"})] == ["n"]


def test_an_optional_old_value_makes_transition_rules_run_on_create() -> None:
    rule = {"rule": "oldSelf.hasValue() || self.a == 1", "optionalOldSelf": True}
    assert said(rule, {"a": 2}, a=NUMBER) != []
    assert said(rule, {"a": 2}, {"a": 3}, a=NUMBER) == []


def test_what_has_not_changed_is_not_held_against_an_update() -> None:
    assert said("self.a < 3", {"a": 5}, {"a": 5}, a=NUMBER) == []
    assert said("self.a < 3", {"a": 6}, {"a": 5}, a=NUMBER) != []


def test_the_writer_is_warned_of_it() -> None:
    rules = compile_rules(schema([{"rule": "self.a < 3", "message": "small only"}], a=NUMBER))
    [told] = rules.validate({"spec": {"a": 5}}, {"spec": {"a": 5}})
    assert (told.reason, told.warning) == ("", "spec: Invalid value: small only")


def test_an_error_of_evaluation_has_the_message_instead_of_the_rule() -> None:
    rule = {"rule": "self.a < 3", "message": "small only", "reason": "FieldValueForbidden"}
    told = 'spec: Invalid value: "object": no such key: a evaluating rule: small only'
    assert said(rule, {}, a=NUMBER) == [told]


def test_elements_of_a_map_list_are_compared_by_their_keys() -> None:
    item = {
        "type": "object",
        "properties": {"k": TEXT, "v": NUMBER},
        "x-kubernetes-validations": [{"rule": "self.v >= oldSelf.v"}],
    }
    keyed = {
        "type": "array",
        "items": item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
    }
    rules = compile_rules({"type": "object", "properties": {"l": keyed}})
    old = {"l": [{"k": "a", "v": 1}, {"k": "b", "v": 9}]}
    new = {"l": [{"k": "b", "v": 8}, {"k": "a", "v": 2}]}
    assert [error.field for error in rules.validate(new, old)] == ["l[0]"]


@pytest.mark.parametrize(
    ("rule", "spec", "properties"),
    [
        ("self.d < 2.5", {"d": 2}, {"d": {"type": "number"}}),
        ("self.t > timestamp('2020-01-01T00:00:00Z')", {"t": "2021-01-01"}, {"t": DATE}),
        ("self.u == duration('60s')", {"u": "1m"}, {"u": {"type": "string", "format": "duration"}}),
        ("self.b == b'hi'", {"b": "aGk="}, {"b": {"type": "string", "format": "byte"}}),
        ("self.s == ['b', 'a']", {"s": ["a", "b"]}, {"s": SET}),
        ("self.x__dash__y == 1 && self.__in__ == 2", {"x-y": 1, "in": 2}, {"x-y": NUMBER, "in": NUMBER}),
        ("type(self.p) == string || self.p > 80", {"p": 81}, {"p": {"x-kubernetes-int-or-string": True}}),
        ("self.m.all(k, self.m[k] > 0)", {"m": {"a": 1}}, {"m": {"type": "object", "additionalProperties": NUMBER}}),
    ],
)  # fmt: skip
def test_values_have_the_types_of_their_schema(rule: str, spec: Json, properties: Json) -> None:
    assert check_rules(schema([{"rule": rule}], **properties)) == []
    assert said(rule, spec, **properties) == []


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ({"rule": ""}, "Required value: rule is not specified"),
        ({"rule": "self.b == 1"}, "undefined field 'b'"),
        ({"rule": "self.a"}, "cel expression must evaluate to a bool"),
        ({"rule": "self.a == 1", "message": "a\nb"}, "message must not contain line breaks"),
        ({"rule": "self.a == 1", "messageExpression": "1"}, "messageExpression must evaluate to a string"),
        ({"rule": "self.a == 1", "fieldPath": ".zz"}, "fieldPath must be a valid path: does not"),
        ({"rule": "self.a == 1", "reason": "Odd"}, 'Unsupported value: "Odd"'),
        ({"rule": "self.a == 1", "optionalOldSelf": True}, "may not be set if oldSelf is not used in rule"),
    ],
)  # fmt: skip
def test_a_definition_with_a_bad_rule_is_refused(rule: Json, problem: str) -> None:
    (error,) = check_rules(schema([rule], a=NUMBER))
    assert problem in error.text


def test_a_rule_that_may_cost_too_much_is_refused_with_its_definition() -> None:
    endless = {"type": "array", "items": {"type": "string"}}
    fields = [
        error.field
        for error in check_rules(schema([{"rule": "self.a.all(x, self.a.all(y, x == y))"}], a=endless))
    ]
    place = "spec.validation.openAPIV3Schema"
    rule = f"{place}.properties[spec].x-kubernetes-validations[0].rule"
    assert fields == [rule, rule, place]
    bounded = {"type": "array", "maxItems": 20, "items": {"type": "string", "maxLength": 20}}
    assert check_rules(schema([{"rule": "self.a.all(x, self.a.all(y, x == y))"}], a=bounded)) == []


def test_the_old_value_cannot_be_asked_for_inside_lists_without_keys() -> None:
    items = {**TEXT, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}
    (error,) = check_rules(
        {"type": "object", "properties": {"l": {"type": "array", "maxItems": 5, "items": items}}}
    )
    assert "oldSelf cannot be used on the uncorrelatable portion of the schema" in error.text


def test_an_evaluation_that_costs_too_much_is_ended() -> None:
    program = compile_expression("self.all(x, self.all(y, self.all(z, x + y + z >= 0)))", {"self": DYN})
    with pytest.raises(CostExceeded):
        program.evaluate({"self": list(range(10_000))})


def test_a_rule_that_costs_too_much_ends_the_validation_with_an_error() -> None:
    rule = "self.l.all(x, self.l.all(y, self.l.all(z, x + y + z >= 0)))"
    (text,) = said(rule, {"l": list(range(1000))}, l={"type": "array", "items": NUMBER})
    assert "no further validation rules will be run due to call cost exceeds limit" in text
