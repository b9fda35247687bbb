"""Taking away what a manager applied before and applies no more (SSA-3)."""

from collections.abc import Iterable
from typing import Any

from kinepy_server.apply.elements import is_leaf, place_of
from kinepy_server.apply.field_set import SELF, FieldSet, difference, has_self, intersection, union
from kinepy_server.apply.owned import below, fields_of
from kinepy_server.apply.versions import Versions
from kinepy_server.schema.types import Kind, Type

JsonObject = dict[str, Any]


def prune(
    merged: JsonObject,
    before: FieldSet,
    *,
    version: str,
    held: Iterable[tuple[str, FieldSet]],
    versions: Versions,
) -> JsonObject:
    """`merged` without the fields in `before`, those of the last applied configuration (in `version`), that nobody
    holds; `held` are the fields of all managers with their versions, the new configuration's among them."""
    found = versions.find(version)
    if found is None:
        return merged
    original = found.convert(merged)
    pruned = without(found.type, original, with_objects(found.type, before))
    for held_version, fields in _by_version(held, first=version):
        pruned = _add_back(original, pruned, fields, at=held_version, base=version, versions=versions)
    gone = intersection(_lost(found.type, original, pruned), with_objects(found.type, before))
    if gone is None:
        return merged
    return found.convert_back(without(found.type, original, gone))


def _by_version(held: Iterable[tuple[str, FieldSet]], *, first: str) -> list[tuple[str, FieldSet | None]]:
    fields: dict[str, FieldSet | None] = {first: None}
    for version, one in held:
        fields[version] = union(fields.get(version), one)
    return list(fields.items())


def _add_back(
    merged: JsonObject,
    pruned: JsonObject,
    held: FieldSet | None,
    *,
    at: str,
    base: str,
    versions: Versions,
) -> JsonObject:
    """`pruned`, and what of `merged` is held; the managers speak of another version than the two are in."""
    here, there = versions.find(base), versions.find(at)
    assert here is not None
    if there is None:
        return pruned
    if at != base:
        merged = there.convert(here.convert_back(merged))
        pruned = there.convert(here.convert_back(pruned))
    kept = with_objects(there.type, held)
    result = without(there.type, merged, difference(_lost(there.type, merged, pruned), kept))
    return result if at == base else here.convert(there.convert_back(result))


def _lost(kind: Type, merged: JsonObject, pruned: JsonObject) -> FieldSet | None:
    everything = with_objects(kind, fields_of(kind, merged))
    return difference(everything, with_objects(kind, fields_of(kind, pruned)))


def with_objects(kind: Type | None, fields: FieldSet | None) -> FieldSet | None:
    """The set, and the paths of all objects with fields in it: they stand and fall with their fields."""
    if not fields or kind is None:
        return fields
    found: FieldSet = {}
    for element, node in fields.items():
        closed = with_objects(below(kind, element), node) or {}
        is_field = kind.kind is Kind.OBJECT and element[2:] in kind.properties
        found[element] = {SELF: {}, **closed} if closed and is_field else closed
    return found


def without(kind: Type, value: Any, gone: FieldSet | None) -> Any:
    """A value without the fields of a set. What loses everything becomes null."""
    if not gone or not isinstance(value, dict | list):
        return value
    if is_leaf(kind):
        return None
    if isinstance(value, dict):
        kept = {}
        for name, member in value.items():
            part = gone.get(f"f:{name}")
            if part is None:
                kept[name] = member
            elif not has_self(part):
                kept[name] = without(below(kind, f"f:{name}") or kind, member, part)
        return kept or None
    return _without_elements(kind, value, gone) or None


def _without_elements(kind: Type, values: list[Any], gone: FieldSet) -> list[Any]:
    assert kind.items is not None
    kept = []
    for value in values:
        part = gone.get(place_of(kind, value))
        if part is None:
            kept.append(value)
        elif not has_self(part):
            kept.append(without(kind.items, value, part))
    return kept
