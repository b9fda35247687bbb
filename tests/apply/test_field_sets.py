"""Field sets: algebra against plain sets of paths, and comparison by the schema's kinds of lists and maps."""

from collections.abc import Iterable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kinepy_server.apply.compare import compare
from kinepy_server.apply.field_set import FieldSet, difference, read_fields, union
from kinepy_server.apply.managed_fields import manager_of
from kinepy_server.schema.types import type_named

PATHS = st.sets(
    st.lists(st.sampled_from(["f:a", "f:b", "f:c"]), min_size=1, max_size=3).map(tuple), max_size=8
)


def tree(paths: Iterable[tuple[str, ...]]) -> FieldSet | None:
    result: FieldSet | None = None
    for path in paths:
        one: FieldSet = {}
        for element in reversed(path):
            one = {element: one}
        result = union(result, one)
    return result


def paths_of(node: FieldSet | None, above: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    if node is None:
        return set()
    found = {above} if above and (not node or "." in node) else set()
    return found.union(*(paths_of(below, (*above, name)) for name, below in node.items() if name != "."))


@settings(deadline=None)
@given(PATHS, PATHS)
def test_union_and_difference_are_those_of_sets(left: Any, right: Any) -> None:
    assert paths_of(union(tree(left), tree(right))) == left | right
    assert paths_of(difference(tree(left), tree(right))) == left - right


@settings(deadline=None)
@given(PATHS)
def test_equal_sets_have_equal_trees(paths: Any) -> None:
    assert tree(sorted(paths)) == tree(sorted(paths, reverse=True))
    assert difference(tree(paths), tree(paths)) is None
    found = tree(paths)
    assert found is None or read_fields(found) == found


def written(schema: str, old: dict[str, Any], new: dict[str, Any]) -> FieldSet:
    return compare(type_named(schema), old, new).written


def test_sets_are_owned_by_value_and_keyed_lists_by_key() -> None:
    metadata = {"finalizers": ["a/b"], "ownerReferences": [{"uid": "u", "name": "n"}]}
    assert written("v1.ConfigMap", {}, {"metadata": metadata}) == {
        "f:metadata": {
            "f:finalizers": {".": {}, 'v:"a/b"': {}},
            "f:ownerReferences": {".": {}, 'k:{"uid":"u"}': {}},
        }
    }


def test_atomic_maps_and_lists_are_owned_as_a_whole() -> None:
    event = {"metadata": {}, "involvedObject": {"kind": "Pod", "name": "p"}}
    assert written("v1.Event", {"metadata": {}, "involvedObject": {}}, event) == {"f:involvedObject": {}}


def test_plain_structs_never_appear_or_vanish() -> None:
    lease = {"spec": {"holderIdentity": "x"}}
    assert written("coordination.v1.Lease", {"spec": {}}, lease) == {"f:spec": {"f:holderIdentity": {}}}
    found = compare(type_named("coordination.v1.Lease"), lease, {"spec": {}})
    assert found.removed == {"f:spec": {"f:holderIdentity": {}}}


def test_an_emptied_map_stays_owned() -> None:
    found = compare(type_named("v1.ConfigMap"), {"data": {"k": "v"}}, {"data": {}})
    assert (found.written, found.removed) == ({}, {"f:data": {"f:k": {}}})


def test_identity_is_not_tracked() -> None:
    new = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "uid": "u", "generation": 1}}
    assert not written("v1.ConfigMap", {}, new)


def test_the_manager_is_the_given_one_or_the_user_agents_name() -> None:
    assert manager_of("me", "kubectl/v1") == "me"
    assert manager_of("", "kubectl/v1.32 (linux)") == "kubectl"
    assert manager_of("", "") == "unknown"
    assert len(manager_of("", "x" * 500)) == 128
