"""The Swagger 2 description of everything, made from the schemas and operations of OpenAPI v3."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from kinepy_server.negotiate import MEDIA_TYPES, STREAM_TYPES
from kinepy_server.openapi_paths import OPTIONS, PATCH, STATUS, path_items, subresource_kind
from kinepy_server.openapi_schemas import REFERENCE, components, full_name, schema_of_kind
from kinepy_server.resources.registry import Registry

Json: TypeAlias = dict[str, Any]

DEFINITIONS = "#/definitions/"
METHODS = ("get", "put", "post", "delete", "patch")
_INNER = ("items", "additionalProperties")
_ONLY_V3 = frozenset(("allOf", "anyOf", "oneOf", "not", "nullable", "default", "$ref"))


def swagger_head(version: str) -> tuple[Json, Json]:
    """What stands before the paths and definitions, and what stands after them."""
    key = {
        "description": "Bearer Token authentication",
        "type": "apiKey",
        "name": "authorization",
        "in": "header",
    }
    before = {"swagger": "2.0", "info": {"title": "Kubernetes", "version": version}}
    return before, {"securityDefinitions": {"BearerToken": key}, "security": [{"BearerToken": []}]}


def swagger_paths(registry: Registry) -> Iterator[tuple[str, Json]]:
    """The description of every path, one by one."""
    for resource in registry.all():
        for path, item in path_items(resource).items():
            yield path, _path_item(item)


def swagger_definitions(registry: Registry) -> Iterator[tuple[str, Json]]:
    """The description of every type, one by one."""
    resources = registry.all()
    kinds = [subresource_kind(r, subresource) for r in resources for subresource in r.subresources.values()]
    others = [OPTIONS, STATUS, *filter(None, map(schema_of_kind, kinds))]
    for name, schema in components(resources, others):
        yield name, _schema(schema)
    yield full_name(PATCH), {"type": "object"}


def _path_item(item: Mapping[str, Any]) -> Json:
    made: Json = {method: _operation(item[method]) for method in METHODS if method in item}
    if "parameters" in item:
        made["parameters"] = [_parameter(parameter) for parameter in item["parameters"]]
    return made


def _operation(operation: Mapping[str, Any]) -> Json:
    """An operation: what v3 says once for each media type is said once, and the media types beside it."""
    body = operation.get("requestBody")
    parameters = [_parameter(parameter) for parameter in operation.get("parameters", ())]
    if body is not None:
        parameters.insert(0, _body_parameter(body))
    streams = operation["x-kubernetes-action"] in ("list", "watch")
    return {
        "description": _description(operation),
        "consumes": list(body["content"]) if body is not None else ["*/*"],
        "produces": [*MEDIA_TYPES, *(STREAM_TYPES if streams else ())],
        "schemes": ["https"],
        "tags": operation["tags"],
        "operationId": operation["operationId"],
        "parameters": parameters,
        "responses": {code: _response(answer) for code, answer in operation["responses"].items()}
        | {"401": {"description": "Unauthorized"}},
        "x-kubernetes-action": operation["x-kubernetes-action"],
        "x-kubernetes-group-version-kind": operation["x-kubernetes-group-version-kind"],
    }


def _description(operation: Mapping[str, Any]) -> str:
    kind = operation["x-kubernetes-group-version-kind"]["kind"]
    return f"{operation['x-kubernetes-action']} objects of kind {kind}"


def _response(answer: Mapping[str, Any]) -> Json:
    schema = next(iter(answer["content"].values()))["schema"]
    return {"description": answer["description"], "schema": _schema(schema)}


def _body_parameter(body: Mapping[str, Any]) -> Json:
    schema = next(iter(body["content"].values()))["schema"]
    made: Json = {"name": "body", "in": "body", "schema": _schema(schema)}
    return made | {"required": True} if body.get("required") else made


def _parameter(parameter: Mapping[str, Any]) -> Json:
    return {name: value for name, value in parameter.items() if name != "schema"} | dict(parameter["schema"])


def _schema(schema: Mapping[str, Any]) -> Json:
    """A schema, without what Swagger has no words for: a reference stands alone, an alternative is a string."""
    reference = schema.get("$ref") or _first_reference(schema.get("allOf", ()))
    made: Json = {name: value for name, value in schema.items() if name not in _ONLY_V3}
    if reference:
        return {"$ref": DEFINITIONS + reference.removeprefix(REFERENCE)} | made
    if "oneOf" in schema:
        return {"type": "string"} | made
    if "default" in schema:
        made["default"] = schema["default"]
    for name in _INNER:
        if isinstance(schema.get(name), Mapping):
            made[name] = _schema(schema[name])
    if "properties" in schema:
        made["properties"] = _schemas(schema["properties"].items())
    return made


def _first_reference(parts: Iterable[Mapping[str, Any]]) -> str:
    return next((part["$ref"] for part in parts if "$ref" in part), "")


def _schemas(named: Iterable[tuple[str, Any]]) -> Json:
    return {name: _schema(schema) for name, schema in named}
