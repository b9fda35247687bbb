"""The graph of owners: small, and right about who is to be looked at."""

import sys
from typing import Any

import orjson

from kinepy import KeyValue, Revision
from kinepy_server.controllers.garbage.graph import Graph


def kv(name: str, *owners: str, blocks: bool = False, **metadata: Any) -> KeyValue:
    """An object whose uid is its name."""
    references = [
        {"apiVersion": "v1", "kind": "K", "name": uid, "uid": uid, "blockOwnerDeletion": blocks}
        for uid in owners
    ]
    if references:
        metadata["ownerReferences"] = references
    value = orjson.dumps({"metadata": {"name": name, "uid": name, **metadata}})
    return KeyValue(name.encode(), value, Revision(1), Revision(1), 1)


def waiting(name: str, *owners: str) -> KeyValue:
    """An object that waits for its dependents."""
    return kv(name, *owners, blocks=True, deletionTimestamp="t", finalizers=["foregroundDeletion"])


def gone(graph: Graph, object_: KeyValue) -> list[bytes]:
    return graph.forget(object_.key, object_.value)


def test_objects_without_owners_are_not_kept() -> None:
    graph = Graph()
    assert graph.note(kv("a", labels={"x": "y"})) == []
    assert len(graph) == 0


def test_a_new_dependent_is_looked_at_once() -> None:
    graph = Graph()
    assert graph.note(kv("child", "o")) == [b"child"]
    assert graph.note(kv("child", "o", labels={"x": "y"})) == []
    assert graph.note(kv("child", "o", "p")) == [b"child"]


def test_the_end_of_an_owner_calls_its_dependents() -> None:
    graph = Graph()
    graph.note(kv("two", "o"))
    graph.note(kv("one", "o"))
    assert gone(graph, kv("o")) == [b"one", b"two"]
    gone(graph, kv("one", "o"))
    assert gone(graph, kv("o")) == [b"two"]


def test_a_waiting_owner_is_called_when_a_dependent_goes_or_changes_its_owners() -> None:
    graph = Graph()
    graph.note(kv("one", "o", blocks=True))
    graph.note(kv("two", "o", blocks=True))
    assert set(graph.note(waiting("o"))) == {b"o", b"one", b"two"}
    assert graph.blocking("o")
    assert gone(graph, kv("one", "o")) == [b"o"]
    assert b"o" in graph.note(kv("two", "o", blocks=False))
    assert not graph.blocking("o")


def test_who_waits_for_itself_through_others_is_in_a_circle() -> None:
    graph = Graph()
    for name, owner in (("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")):
        graph.note(waiting(name, owner))
    assert [graph.circular(name) for name in (b"a", b"b", b"c", b"d")] == [True, True, True, False]


def test_the_end_of_everything_leaves_nothing() -> None:
    graph = Graph()
    objects = [kv("o"), kv("a", "o"), waiting("b", "o", "a"), kv("c", "b", "x")]
    for one in objects:
        graph.note(one)
    for one in objects:
        gone(graph, one)
    assert (len(graph), graph._families, graph._waiting) == (0, {}, {})


def test_a_dependent_costs_few_bytes() -> None:
    graph = Graph()
    for index in range(100):
        graph.note(kv(f"child-{index}", "o"))
    owners = {id(node.owners[0]) for node in graph._nodes.values()}
    assert len(owners) == 1
    assert sys.getsizeof(next(iter(graph._nodes.values()))) < 80
