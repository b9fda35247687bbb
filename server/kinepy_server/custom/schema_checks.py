"""What a schema may say (CRD-10), beside being structural: types, lists, patterns, defaults."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import orjson

from kinepy_server.cel import check_rules
from kinepy_server.custom.structure_checks import structure_errors
from kinepy_server.resources.checks.causes import (
    Key,
    Path,
    duplicate,
    forbidden,
    invalid,
    path_text,
    required,
    unsupported,
)
from kinepy_server.resources.resource import FieldError
from kinepy_server.schema.patterns import BadPattern, matcher
from kinepy_server.schema.structural_check import INT_OR_STRING
from kinepy_server.schema.structural_errors import Place, schema_errors
from kinepy_server.schema.structural_prune import EMBEDDED, PRESERVES, pruner
from kinepy_server.schema.text_formats import FORMATS, NUMBER_FORMATS

Schema: TypeAlias = Mapping[str, Any]
_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_COMBINED = ("allOf", "anyOf", "oneOf")
_INNER = ("items", "additionalProperties", "not", *_COMBINED)
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_LIST_TYPES, _MAP_TYPES = ("atomic", "map", "set"), ("atomic", "granular")
_KEY_TYPES = frozenset(("string", "integer", "number", "boolean"))
_AT_STATUS_ROOT = frozenset(
    (
        "description", "title", "type", "format", "properties", "required", "example", "externalDocs", "$schema",
        EMBEDDED, PRESERVES, "x-kubernetes-validations", "x-kubernetes-map-type",
    )
)  # fmt: skip


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
    others = sorted(schema.keys() - _AT_STATUS_ROOT) if has_status else ()
    if others:
        allowed = " ".join(("Properties", "Description", "Type", "Required"))
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
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden((path, "uniqueItems"), detail)
    additional = schema.get("additionalProperties")
    if additional is not None and schema.get("properties"):
        yield forbidden(
            (path, "additionalProperties"), "additionalProperties and properties are mutual exclusive"
        )
    elif additional is False:
        yield forbidden((path, "additionalProperties"), "additionalProperties cannot be set to false")
    for name in _UNSUPPORTED:
        if schema.get(name):
            yield forbidden((path, name), f"{name} is not supported")
    yield from _own_type(schema, path)
    if schema.get(PRESERVES) is False:
        yield invalid((path, PRESERVES), False, "must be true or undefined")
    yield from _list_type(schema, path)
    yield from _map_type(schema, path)
    if schema.get("pattern"):
        yield from _pattern(schema["pattern"], (path, "pattern"))


def _own_type(schema: Schema, path: Path) -> Iterator[FieldError]:
    kind, items = schema.get("type") or "", schema.get("items")
    if kind == "null":
        yield forbidden((path, "type"), "type cannot be set to null, use nullable as an alternative")
    elif kind and kind not in _TYPES:
        yield unsupported((path, "type"), kind, _TYPES)
    if isinstance(items, list):
        yield forbidden((path, "items"), "items must be a schema object and not an array")
    elif kind == "array" and items is None:
        yield required((path, "items"), "must be specified")


def _pattern(pattern: str, path: Path) -> Iterator[FieldError]:
    try:
        matcher(pattern)
    except BadPattern as error:
        yield invalid(path, pattern, f"must be a valid regular expression, but isn't: {error}")


def _must_be(kind: str, schema: Schema, path: Path, *, because: str) -> Iterator[FieldError]:
    found = schema.get("type") or ""
    if found != kind:
        detail = f"must be {kind} if {because} is specified"
        yield required((path, "type"), detail) if not found else invalid((path, "type"), found, detail)


def _map_type(schema: Schema, path: Path) -> Iterator[FieldError]:
    name = "x-kubernetes-map-type"
    value = schema.get(name)
    if not value:
        return
    yield from _must_be("object", schema, path, because=name)
    if value not in _MAP_TYPES:
        yield unsupported((path, name), value, _MAP_TYPES)


def _list_type(schema: Schema, path: Path) -> Iterator[FieldError]:
    name, keys_name = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
    value, keys = schema.get(name), schema.get(keys_name) or ()
    if value:
        yield from _must_be("array", schema, path, because=name)
        if value not in _LIST_TYPES:
            yield unsupported((path, name), value, _LIST_TYPES)
    if keys and value != "map":
        detail = "must be map if x-kubernetes-list-map-keys is non-empty"
        yield invalid((path, name), value, detail) if value else required((path, name), detail)
    if value == "map":
        if not keys:
            yield required((path, keys_name), "must not be empty if x-kubernetes-list-type is map")
        elif isinstance(schema.get("items"), Mapping):
            yield from _keyed(schema, path, keys)
    elif value == "set" and isinstance(schema.get("items"), Mapping):
        yield from _set(schema["items"], (path, "items"))


def _keyed(schema: Schema, path: Path, keys: Sequence[str]) -> Iterator[FieldError]:
    items, here = schema["items"], (path, "items")
    if items.get("type") != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        yield invalid((here, "type"), items.get("type", ""), detail)
    for index, key in enumerate(keys):
        place = ((path, "x-kubernetes-list-map-keys"), index)
        inner = (items.get("properties") or {}).get(key)
        if key in keys[:index]:
            yield duplicate(place, key)
        elif inner is None:
            yield invalid(place, key, "entries must all be names of item properties")
        else:
            yield from _key(
                inner, ((here, "properties"), Key(key)), needed=key in (items.get("required") or ())
            )


def _key(schema: Schema, path: Path, *, needed: bool) -> Iterator[FieldError]:
    which = "this property is in x-kubernetes-list-map-keys, so it"
    if schema.get("type") not in _KEY_TYPES and not schema.get(INT_OR_STRING):
        detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
        yield invalid((path, "type"), schema.get("type", ""), detail)
    if schema.get("nullable"):
        yield forbidden((path, "nullable"), f"{which} cannot be nullable")
    if schema.get("default") is None and not needed:
        yield required((path, "default"), f"{which} must have a default or be a required property")


def _set(items: Schema, path: Path) -> Iterator[FieldError]:
    if items.get("nullable"):
        yield forbidden((path, "nullable"), "cannot be nullable when x-kubernetes-list-type is set")
    if items.get("type") == "array" and items.get("x-kubernetes-list-type") not in (None, "atomic"):
        detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
        yield invalid((path, "x-kubernetes-list-type"), items["x-kubernetes-list-type"], detail)
    if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
        yield invalid((path, "x-kubernetes-map-type"), items.get("x-kubernetes-map-type"), detail)


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
        else:
            yield from schema_errors(schema, default, Place(path_text(here), ""))
    if isinstance(schema.get("items"), Mapping):
        yield from _defaults(schema["items"], (path, "items"))
    for name, inner in (schema.get("properties") or {}).items():
        yield from _defaults(inner, ((path, "properties"), Key(name)))
    if isinstance(schema.get("additionalProperties"), Mapping):
        yield from _defaults(schema["additionalProperties"], (path, "additionalProperties"))


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
