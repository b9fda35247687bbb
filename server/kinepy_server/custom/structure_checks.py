"""Whether a schema is structural (CRD-10): types are said once, and outside of value validations."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from kinepy_server.resources.checks.causes import Key, Path, forbidden, invalid, path_text, required
from kinepy_server.resources.resource import FieldError
from kinepy_server.schema.patterns import BadPattern, matcher
from kinepy_server.schema.structural_check import INT_OR_STRING
from kinepy_server.schema.structural_prune import EMBEDDED, PRESERVES

Schema: TypeAlias = Mapping[str, Any]
ROOT, FIELD, ITEM = "at the root", "for specified object fields", "for specified array items"
_COMBINED = ("allOf", "anyOf", "oneOf")
_INSIDE: Mapping[str, str] = {
    **dict.fromkeys(
        ("type", "title", "description", "x-kubernetes-list-map-keys", "x-kubernetes-validations"), "empty"
    ),
    **dict.fromkeys(("nullable", PRESERVES, EMBEDDED, INT_OR_STRING), "false"),
    **dict.fromkeys(
        (
            "additionalProperties",
            "default",
            "externalDocs",
            "x-kubernetes-list-type",
            "x-kubernetes-map-type",
        ),
        "undefined",
    ),
}
"""What each word must be inside of value validations."""
_UNSET: Mapping[str, Sequence[Any]] = {"empty": (None, "", []), "false": (None, False), "undefined": (None,)}
_INTEGER_OR_STRING = [{"type": "integer"}, {"type": "string"}]


def structure_errors(schema: Schema, path: Path) -> list[FieldError]:
    """What keeps a schema from being structural, in the order of the texts."""
    errors = [*_node(schema, path, ROOT), *_undescribed(schema, path, (schema, path))]
    return sorted(errors, key=lambda error: f"{error.field}: {error.text}")


def _node(schema: Schema, path: Path, level: str) -> Iterator[FieldError]:
    yield from _children(schema, path)
    yield from _own_type(schema, path, level)
    yield from _extensions(schema, path)
    yield from _head(schema, path, level)
    if level == ROOT and schema.get("additionalProperties") is not None:
        yield forbidden((path, "additionalProperties"), "must not be used at the root")
    yield from _validations(schema, path)


def _validations(schema: Schema, path: Path, *, typed: bool = True) -> Iterator[FieldError]:
    """The value validations of a node. Two of them may say types, in words for clients that do not know
    int-or-string, unless they are not `typed`."""
    yield from _pattern(schema, path)
    for name in _COMBINED:
        if name == "anyOf" and typed and schema.get(name) == _INTEGER_OR_STRING:
            continue
        for index, part in enumerate(schema.get(name) or ()):
            first = typed and name == "allOf" and index == 0
            yield from _nested(part, ((path, name), index), typed=first)
    if isinstance(schema.get("not"), Mapping):
        yield from _nested(schema["not"], (path, "not"))


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
    elif not kind and not schema.get(INT_OR_STRING) and not schema.get(PRESERVES):
        yield required(here, f"must not be empty {level}")
    if schema.get("type") == "array" and schema.get("items") is None:
        yield required((path, "items"), "must be specified")
    if level == ROOT and kind and kind != "object":
        yield invalid(here, kind, "must be object at the root")
    if schema.get(EMBEDDED):
        if schema.get("additionalProperties") is not None:
            detail = "must not be used if x-kubernetes-embedded-resource is set"
            yield forbidden((path, "additionalProperties"), detail)
        if not schema.get(PRESERVES) and not schema.get("properties"):
            detail = (
                "must not be empty if x-kubernetes-embedded-resource is true without"
                " x-kubernetes-preserve-unknown-fields"
            )
            yield required((path, "properties"), detail)


def _extensions(schema: Schema, path: Path) -> Iterator[FieldError]:
    if schema.get(INT_OR_STRING):
        for name in (PRESERVES, EMBEDDED):
            if schema.get(name):
                yield invalid((path, name), True, "must be false if x-kubernetes-int-or-string is true")


def _pattern(schema: Schema, path: Path) -> Iterator[FieldError]:
    if not schema.get("pattern"):
        return
    try:
        matcher(schema["pattern"])
    except BadPattern as error:
        detail = f"must be a valid regular expression, but isn't: {error}"
        yield invalid((path, "pattern"), schema["pattern"], detail)


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
        if metadata.get("type") != "object":
            yield invalid((here, "type"), metadata.get("type", ""), "must be object")
        if level == ROOT and not _restricts_names_alone(metadata):
            detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            yield forbidden(here, detail)


def _restricts_names_alone(metadata: Schema) -> bool:
    others = metadata.keys() - {"type", "properties", "default"}
    return not others and (metadata.get("properties") or {}).keys() <= {"name", "generateName"}


def _nested(schema: Schema, path: Path, *, typed: bool = False) -> Iterator[FieldError]:
    """A value validation: it says nothing about structure."""
    yield from _validations(schema, path, typed=typed)
    if isinstance(schema.get("items"), Mapping):
        yield from _nested(schema["items"], (path, "items"))
    for name, inner in (schema.get("properties") or {}).items():
        yield from _nested(inner, ((path, "properties"), Key(name)))
    for name, what in _INSIDE.items():
        if schema.get(name) not in _UNSET[what]:
            yield forbidden((path, name), f"must be {what} to be structural")
    if "metadata" in (schema.get("properties") or {}):
        place = ((path, "properties"), Key("metadata"))
        yield forbidden(place, "must not be specified in a nested context")


def _undescribed(schema: Schema, path: Path, outer: tuple[Schema, Path]) -> Iterator[FieldError]:
    """What value validations speak of though the structure `outer` does not have it. As in the original only those
    of the whole object are looked at."""
    for name in _COMBINED:
        for index, part in enumerate(schema.get(name) or ()):
            yield from _undescribed_members(part, ((path, name), index), outer)
    if isinstance(schema.get("not"), Mapping):
        yield from _undescribed_members(schema["not"], (path, "not"), outer)


def _undescribed_members(schema: Schema, path: Path, outer: tuple[Schema, Path]) -> Iterator[FieldError]:
    described, place = outer
    yield from _undescribed(schema, path, outer)
    if isinstance(schema.get("items"), Mapping):
        items = described.get("items")
        inner = (items if isinstance(items, Mapping) else None, (place, "items"))
        yield from _undescribed_below(schema["items"], (path, "items"), inner)
    for name, member in (schema.get("properties") or {}).items():
        found = (described.get("properties") or {}).get(name)
        inner = (found, ((place, "properties"), Key(name)))
        yield from _undescribed_below(member, ((path, "properties"), Key(name)), inner)


def _undescribed_below(schema: Schema, path: Path, outer: tuple[Schema | None, Path]) -> Iterator[FieldError]:
    described, place = outer
    if described is None:
        yield required(place, f"because it is defined in {path_text(path)}")
    else:
        yield from _undescribed_members(schema, path, (described, place))
