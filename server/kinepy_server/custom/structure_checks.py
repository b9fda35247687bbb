"""Whether a schema is structural (CRD-10): types are said once, and outside of value validations."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from kinepy_server.resources.checks.causes import Key, Path, forbidden, invalid, path_text, required
from kinepy_server.resources.resource import FieldError
from kinepy_server.schema.structural_check import INT_OR_STRING
from kinepy_server.schema.structural_prune import EMBEDDED, PRESERVES

Schema: TypeAlias = Mapping[str, Any]
ROOT, FIELD, ITEM = "at the root", "for specified object fields", "for specified array items"
_COMBINED = ("allOf", "anyOf", "oneOf")
_EMPTY_INSIDE = ("type", "title", "description", "default")
_FALSE_INSIDE = ("nullable", EMBEDDED, INT_OR_STRING)
_UNDEFINED_INSIDE = (
    "additionalProperties",
    PRESERVES, "x-kubernetes-list-type", "x-kubernetes-map-type", "x-kubernetes-validations",
)  # fmt: skip
_INTEGER_OR_STRING = ({"type": "integer"}, {"type": "string"})


def structure_errors(schema: Schema, path: Path) -> list[FieldError]:
    """What keeps a schema from being structural."""
    return list(_node(schema, path, ROOT))


def _node(schema: Schema, path: Path, level: str) -> Iterator[FieldError]:
    yield from _children(schema, path)
    yield from _own_type(schema, path, level)
    yield from _head(schema, path, level)
    for name in _COMBINED:
        for index, part in enumerate(schema.get(name) or ()):
            if not (schema.get(INT_OR_STRING) and _is_int_or_string(schema, name, index)):
                yield from _nested(part, ((path, name), index), (schema, path))
    if isinstance(schema.get("not"), Mapping):
        yield from _nested(schema["not"], (path, "not"), (schema, path))


def _children(schema: Schema, path: Path) -> Iterator[FieldError]:
    if isinstance(schema.get("items"), Mapping):
        yield from _node(schema["items"], (path, "items"), ITEM)
    for name, inner in (schema.get("properties") or {}).items():
        yield from _node(inner, ((path, "properties"), Key(name)), FIELD)
    if isinstance(schema.get("additionalProperties"), Mapping):
        yield from _node(schema["additionalProperties"], (path, "additionalProperties"), FIELD)


def _own_type(schema: Schema, path: Path, level: str) -> Iterator[FieldError]:
    kind, here = schema.get("type") or "", (path, "type")
    if schema.get(EMBEDDED) and kind != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        yield required(here, detail) if not kind else invalid(here, kind, detail)
    elif schema.get(INT_OR_STRING):
        if kind:
            yield forbidden(here, "must be empty if x-kubernetes-int-or-string is true")
    elif not kind and (level == ROOT or not schema.get(PRESERVES)):
        yield required(here, f"must not be empty {level}")
    if level == ROOT and kind and kind != "object":
        yield invalid(here, kind, "must be object at the root")
    if schema.get(EMBEDDED):
        if schema.get("additionalProperties"):
            detail = "must not be used if x-kubernetes-embedded-resource is set"
            yield forbidden((path, "additionalProperties"), detail)
        if not schema.get(PRESERVES) and not schema.get("properties"):
            detail = (
                "must not be empty if x-kubernetes-embedded-resource is true without"
                " x-kubernetes-preserve-unknown-fields"
            )
            yield required((path, "properties"), detail)


def _head(schema: Schema, path: Path, level: str) -> Iterator[FieldError]:
    if level != ROOT and not schema.get(EMBEDDED):
        return
    properties: Mapping[str, Schema] = schema.get("properties") or {}
    for name in ("kind", "apiVersion"):
        if name in properties and properties[name].get("type") != "string":
            place = ((path, "properties"), Key(name)), "type"
            yield invalid(place, properties[name].get("type", ""), "must be string")
    if "metadata" in properties:
        metadata, here = properties["metadata"], ((path, "properties"), Key("metadata"))
        if metadata.get("type") not in ("object", None):
            yield invalid((here, "type"), metadata["type"], "must be object")
        elif level == ROOT and not _restricts_names_alone(metadata):
            detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            yield forbidden(here, detail)


def _restricts_names_alone(metadata: Schema) -> bool:
    others = metadata.keys() - {"type", "properties", "description"}
    return not others and (metadata.get("properties") or {}).keys() <= {"name", "generateName"}


def _is_int_or_string(schema: Schema, name: str, index: int) -> bool:
    """The two ways in which int-or-string is written for clients that do not know it."""
    if name == "anyOf":
        return _says_int_or_string(schema["anyOf"])
    return name == "allOf" and index == 0 and _says_int_or_string(schema["allOf"][0].get("anyOf") or ())


def _says_int_or_string(parts: Sequence[Schema]) -> bool:
    return len(parts) == 2 and all(part in _INTEGER_OR_STRING for part in parts)


def _nested(schema: Schema, path: Path, outer: tuple[Schema | None, Path]) -> Iterator[FieldError]:
    """A value validation: it says nothing about structure, and of nothing that the structure does not say."""
    for names, what in ((_EMPTY_INSIDE, "empty"), (_FALSE_INSIDE, "false"), (_UNDEFINED_INSIDE, "undefined")):
        for name in names:
            if schema.get(name) not in (None, "", False, []):
                yield forbidden((path, name), f"must be {what} to be structural")
    yield from _nested_members(schema, path, outer)
    for name in _COMBINED:
        for index, part in enumerate(schema.get(name) or ()):
            yield from _nested(part, ((path, name), index), outer)
    if isinstance(schema.get("not"), Mapping):
        yield from _nested(schema["not"], (path, "not"), outer)


def _nested_members(schema: Schema, path: Path, outer: tuple[Schema | None, Path]) -> Iterator[FieldError]:
    described, place = outer
    for name, inner in (schema.get("properties") or {}).items():
        here = ((path, "properties"), Key(name))
        found = _member(described, name)
        if found is None:
            yield _undescribed(((place, "properties"), Key(name)), here)
        yield from _nested(inner, here, (found, ((place, "properties"), Key(name))))
    if isinstance(schema.get("items"), Mapping):
        items = described.get("items") if described is not None else None
        if not isinstance(items, Mapping):
            yield _undescribed((place, "items"), (path, "items"))
        inner_items = items if isinstance(items, Mapping) else None
        yield from _nested(schema["items"], (path, "items"), (inner_items, (place, "items")))


def _member(schema: Schema | None, name: str) -> Schema | None:
    if schema is None:
        return None
    found = (schema.get("properties") or {}).get(name)
    if found is None and isinstance(schema.get("additionalProperties"), Mapping):
        found = schema["additionalProperties"]
    return found


def _undescribed(place: Path, here: Path) -> FieldError:
    return required(place, f"because it is defined in {path_text(here)}")
