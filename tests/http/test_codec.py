"""Stored objects: equal objects have equal bytes, and every wire form is spliced out of them."""

import orjson

from kinepy_server.objects.codec import decode, encode, item_bytes, object_bytes, object_bytes_at
from tests.http.reading import object_of, record, resource

CONFIGMAPS, SECRETS = resource(), resource("secrets")


def test_equal_objects_have_equal_bytes_whatever_the_order_of_their_members() -> None:
    one = {**object_of(CONFIGMAPS, "a"), "data": {"x": "1", "y": "2"}}
    other = {"data": {"y": "2", "x": "1"}, **object_of(CONFIGMAPS, "a")}
    assert encode(CONFIGMAPS, one) == encode(CONFIGMAPS, other)


def test_the_resource_version_is_never_stored() -> None:
    stored = encode(CONFIGMAPS, object_of(CONFIGMAPS, "a", resourceVersion="5"))
    assert b"resourceVersion" not in stored


def test_empty_metadata_is_not_stored_but_a_grace_period_of_zero_is() -> None:
    obj = object_of(CONFIGMAPS, "a", labels={}, finalizers=[], generation=0, deletionGracePeriodSeconds=0)
    metadata = orjson.loads(encode(CONFIGMAPS, obj))["metadata"]
    assert set(metadata) == {"name", "namespace", "uid", "creationTimestamp", "deletionGracePeriodSeconds"}


def test_encoding_leaves_the_object_as_it_is() -> None:
    obj = object_of(CONFIGMAPS, "a", resourceVersion="5", labels={})
    encode(CONFIGMAPS, obj)
    assert obj == object_of(CONFIGMAPS, "a", resourceVersion="5", labels={})


def test_an_object_on_the_wire_is_what_was_stored_with_its_revision() -> None:
    obj = {**object_of(CONFIGMAPS, "a"), "data": {"k": 'v"\n\u20ac'}}
    kv = record(CONFIGMAPS, obj, 42)
    obj["metadata"]["resourceVersion"] = "42"
    assert orjson.loads(object_bytes(CONFIGMAPS, kv)) == obj == decode(CONFIGMAPS, kv)


def test_an_object_without_a_body_is_whole() -> None:
    kv = record(CONFIGMAPS, object_of(CONFIGMAPS, "a"), 42)
    assert set(orjson.loads(object_bytes(CONFIGMAPS, kv))) == {"apiVersion", "kind", "metadata"}


def test_a_deleted_object_shows_the_revision_of_its_delete() -> None:
    kv = record(CONFIGMAPS, object_of(CONFIGMAPS, "a"), 42)
    shown = orjson.loads(object_bytes_at(CONFIGMAPS, kv, 50))
    assert shown["metadata"]["resourceVersion"] == "50"


def test_items_of_built_in_lists_have_no_kind() -> None:
    obj = {**object_of(SECRETS, "a"), "type": "Opaque"}
    item = orjson.loads(item_bytes(SECRETS, record(SECRETS, obj, 9)))
    assert set(item) == {"metadata", "type"}
    assert item["metadata"]["resourceVersion"] == "9"


def test_an_event_is_stored_once_and_shown_in_both_groups() -> None:
    core, events = resource("events"), resource("events", "events.k8s.io")
    kv = record(core, {**object_of(core, "e"), "involvedObject": {"kind": "Pod"}, "message": "hello"})
    shown = orjson.loads(object_bytes(events, kv))
    assert (shown["apiVersion"], shown["note"]) == ("events.k8s.io/v1", "hello")
    assert shown == decode(events, kv)
    assert orjson.loads(object_bytes(core, kv))["message"] == "hello"
    back = encode(events, shown)
    assert orjson.loads(back)["apiVersion"] == "v1"
    assert orjson.loads(back)["message"] == "hello"
