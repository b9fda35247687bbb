"""What a rule allows, what it covers of another, and how missing rules are told."""

import pytest

from kinepy_server.auth.actions import Action
from kinepy_server.auth.rbac.rules import (
    FULL_AUTHORITY,
    Rule,
    described,
    read_rules,
    rule_object,
    uncovered,
    url_covers,
)

PODS = Rule(("get", "list"), ("",), ("pods", "pods/log"))


def about(rule: Rule, verb: str, resource: str, *, group: str = "", subresource: str = "") -> bool:
    """Whether a rule is about a request."""
    return rule.is_about(Action(verb, group, resource, subresource))


def test_a_rule_is_about_what_it_names_and_nothing_else() -> None:
    assert about(PODS, "get", "pods")
    assert about(PODS, "get", "pods", subresource="log")
    assert not about(PODS, "get", "pods", subresource="exec")
    assert not about(PODS, "delete", "pods")
    assert not about(PODS, "get", "pods", group="apps")
    assert not about(PODS, "get", "podtemplates")


def test_stars_stand_for_everything_in_their_place() -> None:
    scale = Rule(("*",), ("*",), ("*/scale",))
    assert about(scale, "patch", "deployments", group="apps", subresource="scale")
    assert not about(scale, "patch", "deployments", group="apps")
    assert about(Rule(("get",), ("",), ("*",)), "get", "pods", subresource="log")


@pytest.mark.parametrize(
    ("own", "path", "covered"),
    [
        ("*", "/x", True),
        ("/x", "/x", True),
        ("/x", "/x/y", False),
        ("/x/*", "/x/y/z", True),
        ("/x/*", "/x", False),
        ("/x*", "/xy", True),
    ],
)
def test_a_url_that_ends_in_a_star_covers_what_begins_like_it(own: str, path: str, covered: bool) -> None:
    assert url_covers(own, path) is covered


def test_a_rule_survives_json() -> None:
    rule = Rule(("get",), ("", "apps"), ("pods",), ("a",))
    assert read_rules([rule_object(rule)]) == (rule,)
    assert read_rules(None) == ()


@pytest.mark.parametrize(
    ("held", "wanted", "missing"),
    [
        (PODS, Rule(("get",), ("",), ("pods",)), 0),
        (PODS, Rule(("get",), ("",), ("pods",), ("a",)), 0),
        (Rule(("get",), ("",), ("pods",), ("a",)), Rule(("get",), ("",), ("pods",)), 1),
        (Rule(("get",), ("",), ("pods",), ("a",)), Rule(("get",), ("",), ("pods",), ("a", "b")), 1),
        (PODS, Rule(("get", "watch"), ("", "apps"), ("pods",)), 3),
        (Rule(("get",), ("",), ("*/log",)), Rule(("get",), ("",), ("pods/log",)), 0),
        (Rule(("get",), ("",), ("pods",)), Rule(("get",), ("",), ("pods/log",)), 1),
        (Rule(("get",), urls=("/a/*",)), Rule(("get",), urls=("/a/b", "/b")), 1),
        (Rule(("*",), ("*",), ("*",)), Rule(("get",), urls=("/a",)), 1),
    ],
)
def test_what_is_not_held_is_found(held: Rule, wanted: Rule, missing: int) -> None:
    assert len(uncovered([held], [wanted])) == missing


def test_full_authority_covers_everything() -> None:
    assert not uncovered(FULL_AUTHORITY, [PODS, *FULL_AUTHORITY])


def test_missing_rules_are_told_together_by_resource() -> None:
    wanted = [Rule(("get", "list"), ("",), ("secrets", "pods")), Rule(("get",), urls=("/a",))]
    assert described(uncovered([], wanted)) == [
        '{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}',
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}',
        '{NonResourceURLs:["/a"], Verbs:["get"]}',
    ]
