"""Strategic merge patches: the schema's merge keys, the directives, the order of lists, the refusals."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinepy_server.patch.strategic import strategic_merge
from kinepy_server.patch.strategic_errors import PatchRefused
from kinepy_server.schema.types import Kind, Property, Type

TEXT = Type(Kind.STRING, "string")
TEXTS = Type(Kind.LIST, "[]string", items=TEXT)


def struct(name: str, /, **properties: Type | tuple[Type, str, str]) -> Type:
    """An object type; a property may come with its merge key and patch strategy."""
    made = {}
    for key, given_type in properties.items():
        of, merge_key, strategy = given_type if isinstance(given_type, tuple) else (given_type, "", "")
        made[key] = Property(
            key,
            of,
            pointer=False,
            omit_empty=True,
            omit_zero=False,
            patch_merge_key=merge_key,
            patch_strategy=strategy,
        )
    return Type(Kind.OBJECT, f"v1.{name}", f"v1.{name}", properties=made)


def listed(items: Type) -> Type:
    return Type(Kind.LIST, "list", items=items)


ENV = struct("EnvVar", name=TEXT, value=TEXT)
CONTAINER = struct("Container", name=TEXT, image=TEXT, args=TEXTS, env=(listed(ENV), "name", "merge"))
POD = struct(
    "Pod",
    containers=(listed(CONTAINER), "name", "merge"),
    finalizers=(TEXTS, "", "merge"),
    labels=Type(Kind.MAP, "map", items=TEXT),
    strategy=(struct("Strategy", type=TEXT, rolling=TEXT), "", "retainKeys"),
    selector=(struct("Selector", match=TEXT, other=TEXT), "", "replace"),
    extra=Type(Kind.ANY, "runtime.RawExtension"),
)


def merged(original: Any, patch: Any) -> Any:
    return strategic_merge(POD, original, patch)


def names(*containers: str) -> list[dict[str, Any]]:
    return [{"name": name} for name in containers]


def test_elements_with_the_same_key_are_merged() -> None:
    original = {"containers": [{"name": "c", "image": "x", "env": [{"name": "A", "value": "1"}]}]}
    patch = {"containers": [{"name": "c", "env": [{"name": "B"}]}]}
    env = [{"name": "B"}, {"name": "A", "value": "1"}]
    assert merged(original, patch) == {"containers": [{"name": "c", "image": "x", "env": env}]}


@pytest.mark.parametrize(
    ("live", "patch", "result"),
    [
        ("c", "s", "sc"),
        ("ab", "bc", "abc"),
        ("abc", "ca", "bca"),
        ("abc", "b", "abc"),
        ("ab", "xb", "xab"),
        ("", "ab", "ab"),
    ],
)
def test_the_patchs_elements_come_first_unless_the_list_had_others_before(
    live: str, patch: str, result: str
) -> None:
    assert merged({"containers": names(*live)}, {"containers": names(*patch)})["containers"] == names(*result)
    assert merged({"finalizers": [*live]}, {"finalizers": [*patch]})["finalizers"] == [*result]


@pytest.mark.parametrize(
    ("live", "order", "patch", "result"),
    [("abc", "cba", "", "cba"), ("abc", "cxa", "x", "bcxa"), ("", "ba", "ba", "ba")],
)
def test_set_element_order_orders(live: str, order: str, patch: str, result: str) -> None:
    original = {"finalizers": [*live]} if live else {}
    asked: dict[str, Any] = {"$setElementOrder/finalizers": [*order]}
    if patch:
        asked["finalizers"] = [*patch]
    assert merged(original, asked)["finalizers"] == [*result]


def test_lists_without_merge_strategy_are_replaced() -> None:
    original = {"containers": [{"name": "c", "args": ["x", "y"]}]}
    assert merged(original, {"containers": [{"name": "c", "args": ["z"]}]})["containers"][0]["args"] == ["z"]


def test_directives_in_maps() -> None:
    labels = {"labels": {"a": "1", "b": "2"}}
    assert merged({**labels}, {"labels": {"a": None, "c": "3"}}) == {"labels": {"b": "2", "c": "3"}}
    assert merged({**labels}, {"labels": {"$patch": "replace", "c": "3"}}) == {"labels": {"c": "3"}}
    assert merged({**labels}, {"labels": {"$patch": "delete"}}) == {"labels": {}}
    assert merged({}, {"labels": {"$patch": "replace", "c": "3"}}) == {}


def test_directives_in_lists() -> None:
    live = {"containers": names("a", "b")}
    assert merged({**live}, {"containers": [{"$patch": "delete", "name": "a"}]})["containers"] == names("b")
    replaced = merged({**live}, {"containers": [{"$patch": "replace"}, {"name": "c"}]})
    assert replaced["containers"] == names("c")
    fresh = merged({}, {"containers": [{"$patch": "delete", "name": "a"}, {"name": "c"}]})
    assert fresh["containers"] == names("c")


def test_elements_of_scalar_lists_are_deleted_by_a_parallel_list() -> None:
    patch = {"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["c"]}
    assert merged({"finalizers": ["a", "b"]}, patch)["finalizers"] == ["c", "b"]
    assert merged({}, {"$deleteFromPrimitiveList/finalizers": ["a"]}) == {}


def test_retain_keys_drops_the_other_members() -> None:
    patch = {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}
    assert merged({"strategy": {"type": "x", "rolling": "y"}}, patch) == {"strategy": {"type": "Recreate"}}


def test_the_replace_strategy_replaces() -> None:
    patch = {"selector": {"match": "z"}}
    assert merged({"selector": {"match": "x", "other": "y"}}, patch) == {"selector": {"match": "z"}}


def test_values_without_a_schema_are_merged_as_maps() -> None:
    assert merged({"extra": {"a": {"b": 1}}}, {"extra": {"a": {"c": 2}}}) == {
        "extra": {"a": {"b": 1, "c": 2}}
    }


@pytest.mark.parametrize(
    ("patch", "code", "text"),
    [
        ({"labels": {"$patch": "frob"}}, 500, "unknown patch type: frob in map: map[$patch:frob]"),
        (
            {"containers": [{"image": "x"}]},
            500,
            "map: map[image:x] does not contain declared merge key: name",
        ),
        ({"containers": [{"$patch": "merge"}]}, 500, "merging lists cannot yet be specified in the patch"),
        ({"finalizers": ["a", 1]}, 500, "list element types are not identical: [[f] [a 1]]"),
        ({"finalizers": [["a"]]}, 422, "lists of lists are not supported"),
        ({"strategy": {"$retainKeys": "type"}}, 400, "invalid patch format of retainKeys"),
        ({"strategy": {"$retainKeys": [], "type": "x"}}, 400, "invalid patch format of retainKeys"),
        ({"$deleteFromPrimitiveList": ["a"]}, 400, "invalid patch format of primitive list"),
        ({"$setElementOrder": ["a"]}, 400, "invalid patch format of setElementOrder list"),
        (
            {"$setElementOrder/nope": ["a"]},
            500,
            'unable to find api field in struct Pod for the json field "nope"',
        ),
        (
            {"$setElementOrder/finalizers": "a"},
            500,
            "expected a []interface {}, but received a string",
        ),
        (
            {"$setElementOrder/finalizers": ["a", "b"], "finalizers": ["b", "a"]},
            500,
            "The order in patch list:\n[b a]\n doesn't match $setElementOrder list:\n[a b]\n",
        ),
    ],
)
def test_refusals_are_the_originals(patch: Any, code: int, text: str) -> None:
    original = {
        "labels": {"a": "b"},
        "containers": names("c"),
        "finalizers": ["f"],
        "strategy": {"type": "x"},
    }
    with pytest.raises(PatchRefused) as refused:
        merged(original, patch)
    assert (refused.value.code, str(refused.value)) == (code, text)


SCALARS = st.lists(st.sampled_from("abcd"), max_size=4, unique=True)
ENVS = st.dictionaries(st.sampled_from("abcd"), st.sampled_from(("1", "2", None)), max_size=4)
MAPS = st.dictionaries(st.sampled_from("abc"), st.sampled_from(("1", "2")), max_size=3)
CHANGES = st.dictionaries(st.sampled_from("abc"), st.sampled_from(("1", "2", None)), max_size=3)


def listed_envs(envs: dict[str, str | None]) -> list[dict[str, Any]]:
    return [{"name": name, **({"value": value} if value else {})} for name, value in envs.items()]


@settings(deadline=None)
@given(live=ENVS, patch=ENVS, labels=MAPS, change=CHANGES, finalizers=SCALARS, more=SCALARS)
def test_the_result_holds_what_plain_dicts_would(
    live: Any, patch: Any, labels: Any, change: Any, finalizers: Any, more: Any
) -> None:
    original = {"containers": [{"name": "c", "env": listed_envs(live)}], "labels": {**labels}}
    result = merged(
        {**original, "finalizers": finalizers},
        {
            "containers": [{"name": "c", "env": listed_envs(patch)}],
            "labels": change,
            "finalizers": more,
        },
    )
    env = {one["name"]: one.get("value") for one in result["containers"][0]["env"]}
    assert env == live | {name: value or live.get(name) for name, value in patch.items()}
    assert result["labels"] == {name: v for name, v in (labels | change).items() if v is not None}
    assert sorted(result["finalizers"]) == sorted({*finalizers, *more})


@settings(deadline=None)
@given(live=SCALARS, patch=SCALARS)
def test_both_orders_are_kept(live: list[str], patch: list[str]) -> None:
    result = merged({"finalizers": [*live]}, {"finalizers": patch})["finalizers"]
    assert [name for name in result if name in patch] == patch
    others = [name for name in live if name not in patch]
    assert [name for name in result if name in others] == others


@settings(deadline=None)
@given(live=ENVS, patch=ENVS)
def test_a_patch_stays_as_it_is_and_does_nothing_new_the_second_time(live: Any, patch: Any) -> None:
    sent = {"containers": [{"name": "c", "env": listed_envs(patch)}]}
    once = merged({"containers": [{"name": "c", "env": listed_envs(live)}]}, sent)
    assert sent == {"containers": [{"name": "c", "env": listed_envs(patch)}]}
    twice = merged(once, sent)
    assert twice == once


WORDS = st.sampled_from(
    (
        "$patch",
        "$retainKeys",
        "$setElementOrder/finalizers",
        "$setElementOrder/containers",
        "$deleteFromPrimitiveList/finalizers",
        "$deleteFromPrimitiveList/containers",
        "containers",
        "finalizers",
        "labels",
        "name",
        "env",
        "extra",
    )
)
ANYTHING = st.recursive(
    st.sampled_from((None, True, 1, 1.0, "a", "replace", "delete", "name")),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(WORDS, below, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.dictionaries(WORDS, ANYTHING, max_size=4))
def test_whatever_is_sent_is_applied_or_refused(patch: dict[str, Any]) -> None:
    original = {
        "containers": [{"name": "a", "env": [{"name": "A"}]}],
        "finalizers": ["a", "b"],
        "labels": {"name": "x"},
        "extra": {"name": [1]},
    }
    try:
        assert isinstance(merged(original, patch), dict)
    except PatchRefused:
        pass
