"""What a schema may say (CRD-10), beside being structural: types, lists, patterns, defaults."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import orjson

from kinepy_server.cel import check_rules, value_errors
from kinepy_server.custom.structure_checks import structure_errors
from kinepy_server.resources.checks.causes import (
    Key,
    Path,
    forbidden,
    invalid,
    path_text,
    required,
    unsupported,
)
from kinepy_server.resources.resource import FieldError
from kinepy_server.schema.structural_errors import NOWHERE, Place, schema_errors
from kinepy_server.schema.structural_prune import PRESERVES, pruner
from kinepy_server.schema.text_formats import FORMATS, NUMBER_FORMATS

Schema: TypeAlias = Mapping[str, Any]
_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_COMBINED = ("allOf", "anyOf", "oneOf")
_INNER = ("items", "additionalProperties", "not", *_COMBINED)
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_LIST, _MAP, _KEYS = "x-kubernetes-list-type", "x-kubernetes-map-type", "x-kubernetes-list-map-keys"
_ZERO: Sequence[Any] = (None, False, "", 0, [], {})
_LIST_TYPES, _MAP_TYPES = ("atomic", "set", "map"), ("atomic", "granular")
_AT_STATUS_ROOT: Mapping[str, str] = {
    "description": "Description", "type": "Type", "format": "Format", "title": "Title", "maximum": "Maximum",
    "exclusiveMaximum": "ExclusiveMaximum", "minimum": "Minimum", "exclusiveMinimum": "ExclusiveMinimum",
    "maxLength": "MaxLength", "minLength": "MinLength", "pattern": "Pattern", "maxItems": "MaxItems",
    "minItems": "MinItems", "uniqueItems": "UniqueItems", "multipleOf": "MultipleOf", "required": "Required",
    "items": "Items", "properties": "Properties", "externalDocs": "ExternalDocs", "example": "Example",
    PRESERVES: "XPreserveUnknownFields", "x-kubernetes-validations": "XValidations",
}  # fmt: skip
"""What a schema may say at its root beside a status with an endpoint of its own, and how messages call it."""


def openapi_errors(schema: Schema, path: Path, *, has_status: bool) -> list[FieldError]:
    """Everything that is wrong with the schema of a version."""
    errors: list[FieldError] = list(_root(schema, path, has_status=has_status))
    keywords = list(_keywords(schema, path))
    if not _has_unsupported(schema):
        structure = structure_errors(schema, path)
        errors += structure or list(_defaults(schema, path))
    errors += keywords
    found = list(dict.fromkeys(errors))
    return found or check_rules(schema, path=path_text(path))


def _root(schema: Schema, path: Path, *, has_status: bool) -> Iterator[FieldError]:
    others = [name for name in schema if name not in _AT_STATUS_ROOT and schema[name] not in _ZERO]
    if has_status and others:
        allowed = " ".join(_AT_STATUS_ROOT.values())
        detail = f"only [{allowed}] fields are allowed at the root of the schema if the status subresource is enabled"
        yield invalid(path, dict(schema), detail)
    if schema.get("nullable"):
        yield forbidden((path, "nullable"), "nullable cannot be true at the root")


def _has_unsupported(schema: Any) -> bool:
    """Whether anything in a schema is written in words that structural schemas do not have."""
    if isinstance(schema, list):
        return any(map(_has_unsupported, schema))
    if not isinstance(schema, Mapping):
        return False
    if any(schema.get(name) for name in _UNSUPPORTED):
        return True
    inner = [*(schema.get("properties") or {}).values(), *(schema.get(name) for name in _INNER)]
    return any(map(_has_unsupported, inner))


# --- keywords


def _keywords(schema: Schema, path: Path) -> Iterator[FieldError]:
    """Every node, also those inside of value validations."""
    yield from _own(schema, path)
    for name, inner in (schema.get("properties") or {}).items():
        yield from _keywords(inner, ((path, "properties"), Key(name)))
    for name in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(name), Mapping):
            yield from _keywords(schema[name], (path, name))
    for name in _COMBINED:
        for index, part in enumerate(schema.get(name) or ()):
            yield from _keywords(part, ((path, name), index))


def _own(schema: Schema, path: Path) -> Iterator[FieldError]:
    yield from _own_type(schema, path)
    for name in _UNSUPPORTED:
        if schema.get(name):
            yield forbidden((path, name), f"{name} is not supported")
    if schema.get("type") == "null":
        yield forbidden((path, "type"), "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list):
        yield forbidden((path, "items"), "items must be a schema object and not an array")
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden((path, "uniqueItems"), detail)
    if schema.get("properties") and schema.get("additionalProperties") not in (None, True):
        detail = "additionalProperties and properties are mutual exclusive"
        yield forbidden((path, "additionalProperties"), detail)
    if schema.get(PRESERVES) is False:
        yield invalid((path, PRESERVES), False, "must be true or undefined")
    yield from _map_type(schema, path)
    yield from _list_type(schema, path)


def _own_type(schema: Schema, path: Path) -> Iterator[FieldError]:
    kind = schema.get("type") or ""
    if kind and kind not in _TYPES:
        yield unsupported((path, "type"), kind, _TYPES)


def _must_be(kind: str, schema: Schema, path: Path, *, because: str) -> Iterator[FieldError]:
    found = schema.get("type") or ""
    if found != kind:
        detail = f"must be {kind} if {because} is specified"
        yield required((path, "type"), detail) if not found else invalid((path, "type"), found, detail)


def _map_type(schema: Schema, path: Path) -> Iterator[FieldError]:
    value = schema.get(_MAP)
    if not value:
        return
    yield from _must_be("object", schema, path, because=_MAP)
    if value not in _MAP_TYPES:
        yield unsupported((path, _MAP), value, _MAP_TYPES)


def _list_type(schema: Schema, path: Path) -> Iterator[FieldError]:
    value, keys = schema.get(_LIST), schema.get(_KEYS) or ()
    items = schema["items"] if isinstance(schema.get("items"), Mapping) else None
    if value and schema.get("type") != "array":
        yield from _must_be("array", schema, path, because=_LIST)
    elif value == "set" and items is not None:
        yield from _atomic(items, (path, "items"))
    if value and value not in _LIST_TYPES:
        yield unsupported((path, _LIST), value, _LIST_TYPES)
    if keys and value != "map":
        detail = f"must be map if {_KEYS} is non-empty"
        yield invalid((path, _LIST), value, detail) if value else required((path, _LIST), detail)
    if value == "map":
        yield from _keyed(schema, items, path, keys=keys)
    if value in ("map", "set") and items is not None:
        yield from _unnullable(items, (path, "items"), value, keys=keys)


def _atomic(items: Schema, path: Path) -> Iterator[FieldError]:
    detail, kind = f"must be atomic as item of a list with {_LIST}=set", items.get("type")
    if kind == "array" and items.get(_LIST) not in (None, "atomic"):
        yield invalid((path, _LIST), items[_LIST], detail)
    elif kind == "object" and items.get(_MAP) != "atomic":
        # The original shows the type of lists here.
        yield invalid((path, _MAP), items.get(_LIST), detail)


def _keyed(schema: Schema, items: Schema | None, path: Path, *, keys: Sequence[str]) -> Iterator[FieldError]:
    here = (path, "items")
    if not keys:
        yield required((path, _KEYS), f"must not be empty if {_LIST} is map")
    if items is None:
        if schema.get("items") is None:
            yield required(here, f"must have a schema if {_LIST} is map")
        else:
            yield invalid(here, schema["items"], f"must only have a single schema if {_LIST} is map")
    elif items.get("type") != "object":
        yield invalid(
            (here, "type"), items.get("type", ""), f"must be object if parent array's {_LIST} is map"
        )
    else:
        properties, place = items.get("properties") or {}, (path, _KEYS)
        for index, key in enumerate(keys):
            if key not in properties:
                yield invalid(place, list(keys), "entries must all be names of item properties")
            elif properties[key].get("type") in ("array", "object"):
                detail = f"must be a scalar type if parent array's {_LIST} is map"
                yield invalid((((here, "properties"), Key(key)), "type"), items["type"], detail)
            if key in keys[:index]:
                yield invalid(place, list(keys), "must not contain duplicate entries")


def _unnullable(items: Schema, path: Path, value: str, *, keys: Sequence[str]) -> Iterator[FieldError]:
    if items.get("nullable"):
        yield forbidden((path, "nullable"), f"cannot be nullable when {_LIST} is {value}")
    if value != "map":
        return
    which = f"this property is in {_KEYS}, so it"
    for key in keys:
        inner, here = (items.get("properties") or {}).get(key), ((path, "properties"), Key(key))
        if inner is None:
            continue
        if key not in (items.get("required") or ()) and inner.get("default") is None:
            yield required((here, "default"), f"{which} must have a default or be a required property")
        if inner.get("nullable"):
            yield forbidden((here, "nullable"), f"{which} cannot be nullable")


# --- defaults


def _defaults(schema: Schema, path: Path) -> Iterator[FieldError]:
    """A default must be valid, and hold nothing that would be pruned."""
    default = schema.get("default")
    if default is not None:
        here = (path, "default")
        copy = orjson.loads(orjson.dumps(default))
        prune = pruner(schema)
        if prune is not None:
            prune(copy, "", None)
        if copy != default:
            yield invalid(here, default, "must not have unknown fields")
        errors = schema_errors(schema, default, Place(path_text(here), ""))
        yield from errors or _unruled(schema, default, path_text(here))
    if isinstance(schema.get("items"), Mapping):
        yield from _defaults(schema["items"], (path, "items"))
    for name, inner in (schema.get("properties") or {}).items():
        yield from _defaults(inner, ((path, "properties"), Key(name)))


def _unruled(schema: Schema, default: Any, place: str) -> Iterator[FieldError]:
    """A default must obey the rules that are about it."""
    for error in value_errors(schema, default):
        inner = "" if error.field == NOWHERE else error.field
        joint = "." if inner and not inner.startswith("[") else ""
        yield replace(error, field=f"{place}{joint}{inner}")


# --- warnings


def unknown_formats(schema: Schema) -> Iterator[str]:
    """The formats of texts that say nothing here."""
    text_format = schema.get("format") or ""
    known = text_format.replace("-", "") in FORMATS or text_format in NUMBER_FORMATS
    if schema.get("type") == "string" and text_format and not known:
        yield text_format
    inner = [
        *(schema.get("properties") or {}).values(),
        schema.get("items"),
        schema.get("additionalProperties"),
    ]
    for part in inner:
        if isinstance(part, Mapping):
            yield from unknown_formats(part)
