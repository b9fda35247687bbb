"""OpenAPI v3 schemas, made from the same type tables that decode bodies."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from operator import itemgetter
from typing import Any, TypeAlias

from kinepy_server.data import table
from kinepy_server.resources.resource import Resource
from kinepy_server.schema.types import Kind, Property, Type, type_named

Json: TypeAlias = dict[str, Any]

REFERENCE = "#/components/schemas/"
_SPECIAL: Mapping[Kind, Json] = {
    Kind.TIME: {"type": "string", "format": "date-time"},
    Kind.MICRO_TIME: {"type": "string", "format": "date-time"},
    Kind.ANY: {"type": "object"},
    Kind.INT_OR_STRING: {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    Kind.QUANTITY: {"oneOf": [{"type": "string"}, {"type": "number"}]},
}
_ANYTHING = "apiextensions.v1.JSON"
"""Special types named so are any JSON, or one of two shapes; the others that no schema describes are objects."""
_LIST_META, _OBJECT_META = "meta.v1.ListMeta", "meta.v1.ObjectMeta"


def full_name(schema: str) -> str:
    """The OpenAPI name of a schema: `io.k8s.api.core.v1.ConfigMap` for `v1.ConfigMap`. Those of custom resources
    are whole already."""
    prefix, _, name = schema.rpartition(".")
    return f"{table('schemas')['prefixes'].get(prefix, prefix)}.{name}"


def reference(schema: str) -> Json:
    """A reference to a schema."""
    return {"$ref": REFERENCE + full_name(schema)}


@cache
def _schemas_by_kind() -> Mapping[tuple[str, str, str], str]:
    definitions = table("schemas")["definitions"]
    return {
        (group, version, kind[0]): name
        for name, definition in definitions.items()
        for group, version, *kind in definition.get("gvk", ())
        if kind
    }


def schema_of_kind(kind: Mapping[str, str]) -> str:
    """The schema name of a group, version and kind; empty when it is not described."""
    return _schemas_by_kind().get((kind["group"], kind["version"], kind["kind"]), "")


def list_schema(resource: Resource) -> str:
    """The schema name of the list of a resource's objects."""
    return f"{resource.schema.rpartition('.')[0]}.{resource.list_kind}"


def component_schemas(resources: Iterable[Resource], others: Iterable[str]) -> Json:
    """Every schema that resources, their lists and `others` need, by OpenAPI name."""
    return dict(sorted(components(resources, others), key=itemgetter(0)))


def components(resources: Iterable[Resource], others: Iterable[str]) -> Iterator[tuple[str, Json]]:
    """The same one by one, each made when it is asked for."""
    open_names = [*others]
    for resource in resources:
        open_names.append(_LIST_META)
        if resource.shape is None:
            open_names.append(resource.schema)
        else:
            yield resource.schema, resource.shape.openapi()
            open_names.append(_OBJECT_META)
        if resource.list_kind:
            yield full_name(list_schema(resource)), _list(resource)
    seen: set[str] = set()
    while open_names:
        name = open_names.pop()
        if name in seen:
            continue
        seen.add(name)
        of = type_named(name)
        yield full_name(name), _named(of)
        open_names += [inner for prop in of.properties.values() for inner in _names(prop.type)]


def _names(of: Type) -> Iterable[str]:
    while of.items is not None:
        of = of.items
    return (of.name,) if of.name else ()


def _named(of: Type) -> Json:
    if of.kind is not Kind.OBJECT:
        return {} if of.name.startswith(_ANYTHING) else dict(_SPECIAL[of.kind])
    made: Json = {"type": "object"}
    if of.properties:
        made["properties"] = {name: _property(prop) for name, prop in sorted(of.properties.items())}
    if of.required:
        made["required"] = list(of.required)
    if of.map_type != "granular":
        made["x-kubernetes-map-type"] = of.map_type
    gvk = table("schemas")["definitions"][of.name].get("gvk")
    if gvk:
        made["x-kubernetes-group-version-kind"] = [_gvk(entry, of.name) for entry in gvk]
    return made


def _gvk(entry: list[str], name: str) -> Json:
    group, version, *kind = entry
    return {"group": group, "kind": kind[0] if kind else name.rpartition(".")[2], "version": version}


def _property(prop: Property) -> Json:
    if prop.type.name:
        made: Json = {"allOf": [reference(prop.type.name)]}
        if prop.map_type != prop.type.map_type:
            made["x-kubernetes-map-type"] = prop.map_type
    else:
        made = _shape(prop.type)
    if prop.default is not None:
        made["default"] = prop.default
    if prop.enum:
        made["enum"] = list(prop.enum)
    if prop.patch_merge_key:
        made["x-kubernetes-patch-merge-key"] = prop.patch_merge_key
    if prop.patch_strategy:
        made["x-kubernetes-patch-strategy"] = prop.patch_strategy
    return made


def _shape(of: Type) -> Json:
    match of.kind:
        case Kind.LIST:
            assert of.items is not None
            made: Json = {
                "type": "array",
                "items": _element(of.items),
                "x-kubernetes-list-type": of.list_type,
            }
            if of.list_map_keys:
                made["x-kubernetes-list-map-keys"] = list(of.list_map_keys)
        case Kind.MAP:
            assert of.items is not None
            made = {"type": "object", "additionalProperties": _element(of.items)}
            if of.map_type != "granular":
                made["x-kubernetes-map-type"] = of.map_type
        case Kind.BYTES:
            made = {"type": "string", "format": "byte"}
        case kind:
            made = {"type": kind.value} | ({"format": of.format} if of.format else {})
    return made


def _element(of: Type) -> Json:
    return {"allOf": [reference(of.name)]} if of.name else _shape(of)


def _list(resource: Resource) -> Json:
    return {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "items": {"type": "array", "items": {"allOf": [reference(resource.schema)]}},
            "kind": {"type": "string"},
            "metadata": {"allOf": [reference(_LIST_META)], "default": {}},
        },
        "x-kubernetes-group-version-kind": [
            {"group": resource.group, "kind": resource.list_kind, "version": resource.version}
        ],
    }
