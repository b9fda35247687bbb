"""The registry knows the built-in types from data, and nothing of it disagrees with itself."""

import pytest

from kinepy_server.resources.builtins import builtin_registry
from kinepy_server.resources.resource import Resource
from kinepy_server.schema.decode import decode
from kinepy_server.schema.types import type_named

REGISTRY = builtin_registry()


def resource(plural: str, group: str = "") -> Resource:
    found = REGISTRY.lookup(group, "v1", plural)
    assert found is not None
    return found


def test_keys_are_those_of_the_original() -> None:
    assert resource("configmaps").key("ns", "a") == b"/registry/configmaps/ns/a"
    assert resource("namespaces").key("", "ns") == b"/registry/namespaces/ns"
    assert resource("leases", "coordination.k8s.io").list_prefix("ns") == b"/registry/leases/ns/"
    assert resource("configmaps").list_prefix("") == b"/registry/configmaps/"


def test_both_kinds_of_events_are_one_store() -> None:
    core, new = resource("events"), resource("events", "events.k8s.io")
    assert core.key_prefix == new.key_prefix
    assert new.storage_api_version == core.api_version
    assert core in REGISTRY.stored()
    assert new not in REGISTRY.stored()


def test_what_is_not_served_is_not_found() -> None:
    assert REGISTRY.lookup("", "v1", "frobs") is None
    assert REGISTRY.lookup("", "v2", "configmaps") is None
    assert REGISTRY.group("nope") is None
    assert REGISTRY.resources("", "v9") == ()


def test_kinds_are_known_whether_served_or_not() -> None:
    assert REGISTRY.knows_kind("v1", "ConfigMap")
    assert not REGISTRY.knows_kind("v2", "ConfigMap")
    assert not REGISTRY.knows_kind("v1", "Nonsense")


@pytest.mark.parametrize("found", REGISTRY.all(), ids=lambda found: found.qualified)
def test_every_resource_is_whole(found: Resource) -> None:
    assert type_named(found.schema).properties["metadata"].type.name == "meta.v1.ObjectMeta"
    empty = decode(found.schema, {})[0]
    cells = found.cells(empty, 0.0) if found.cells is not None else ()
    assert len(cells) == len(found.columns)
    for read in found.field_labels.values():
        assert isinstance(read(empty), str)


def test_namespaces_are_not_selected_by_namespace() -> None:
    assert not resource("namespaces").selects_namespace
    assert resource("secrets").selects_namespace


def test_the_source_of_a_core_event_is_its_component_else_who_reports() -> None:
    read = resource("events").field_labels["source"]
    assert read({"source": {"component": "s"}, "reportingComponent": "r"}) == "s"
    assert read({"source": {}, "reportingComponent": "r"}) == "r"
    assert read({}) == ""


def test_an_event_survives_the_way_to_the_other_group_and_back() -> None:
    new = resource("events", "events.k8s.io")
    assert new.from_storage is not None
    assert new.to_storage is not None
    core = decode(
        "v1.Event", {"message": "m", "count": 2, "source": {"component": "c"}, "metadata": {"name": "e"}}
    )[0]
    core["apiVersion"] = "v1"
    shown = new.from_storage(core)
    assert (shown["note"], shown["deprecatedCount"], shown["apiVersion"]) == ("m", 2, "events.k8s.io/v1")
    assert new.to_storage(shown) == core
