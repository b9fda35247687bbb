"""Whatever is sent for a type is refused by name or stored, shown and changed; nothing fails."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kinepy_server.objects.codec import encode
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.schema.compile import Mismatch
from kinepy_server.schema.decode import DecodeError, decode
from kinepy_server.schema.types import type_named
from kinepy_server.wire.table import cells_of
from tests.http.protobuf_values import values_of
from tests.http.types import ADMIN, KEYS, NOW, UID, made, minimal, resource_of

EXAMPLES = 10
BROKEN = st.sampled_from([None, 0, -1, 2**63, 1.5, "", "x", [], [None], {}, {"": None}, True, "9999-99-99"])


@st.composite
def _broken(draw: st.DrawFn, value: Any) -> Any:
    """A value with one member of another type somewhere."""
    if isinstance(value, dict) and value and draw(st.integers(0, 3)):
        name = draw(st.sampled_from(sorted(value)))
        return {**value, name: draw(_broken(value[name]))}
    if isinstance(value, list) and value and draw(st.booleans()):
        return [draw(_broken(value[0])), *value[1:]]
    return draw(BROKEN)


def _decoded(of: Resource, value: Any) -> JsonObject | None:
    if not isinstance(value, dict):
        return None
    try:
        obj: JsonObject = decode(of.schema, {**value, "metadata": {"name": "a", "namespace": "ns1"}})[0]
    except (DecodeError, Mismatch):
        return None
    obj["metadata"] |= {"uid": UID, "creationTimestamp": NOW}
    return obj


def _used(of: Resource, obj: JsonObject, stored: JsonObject) -> None:
    """Everything that is done with an object that could be decoded."""
    if of.sign is not None:
        of.sign(obj, ADMIN)
    strategy = of.strategy
    strategy.default(obj)
    for subresource in ("", *(name for name in of.subresources if "update" in of.subresources[name].verbs)):
        changed = _decoded(of, {name: value for name, value in obj.items() if name != "metadata"})
        assert changed is not None, "defaults are of the right types"
        strategy.prepare_update(changed, stored, subresource=subresource)
        strategy.validate_update(changed, stored, subresource=subresource)
    strategy.prepare_create(obj)
    strategy.validate_create(obj)
    cells_of(of, obj, 0.0)
    for read in of.field_labels.values():
        assert isinstance(read(obj), str)
    encode(of, obj)


@pytest.mark.parametrize("key", KEYS)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_object_is_refused_or_used(key: str, data: st.DataObject) -> None:
    of = resource_of(key)
    value = data.draw(values_of(type_named(of.schema)))
    if data.draw(st.booleans()):
        value = data.draw(_broken(value))
    obj = _decoded(of, value)
    if obj is not None:
        _used(of, obj, made(key, minimal(key)))


@pytest.mark.parametrize("key", KEYS)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_change_of_a_good_object_is_refused_or_used(key: str, data: st.DataObject) -> None:
    of = resource_of(key)
    value = {name: member for name, member in minimal(key).items() if name != "metadata"}
    obj = _decoded(of, data.draw(_broken(value))) if value else None
    if obj is not None:
        _used(of, obj, made(key, minimal(key)))
