"""Schemas of custom resources as OpenAPI v3 shows them."""

from collections.abc import Mapping
from typing import Any

_METADATA = {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
_DROPPED = frozenset(("$schema", "id"))
_MAPS, _LISTS, _SINGLE = (
    ("properties",),
    ("allOf", "anyOf", "oneOf"),
    ("items", "additionalProperties", "not"),
)
_API_VERSION = (
    "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized"
    " schemas to the latest internal value, and may reject unrecognized values. More info:"
    " https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources"
)
_KIND = (
    "Kind is a string value representing the REST resource this object represents. Servers may infer this from the"
    " endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:"
    " https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
)
_OBJECT_METADATA = (
    "Standard object's metadata. More info:"
    " https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)


def published(schema: Mapping[str, Any], kind: Mapping[str, str]) -> dict[str, Any]:
    """The schema of whole objects of a kind."""
    made: dict[str, Any] = _clean(schema)
    made["properties"] = {
        **made.get("properties", {}),
        "apiVersion": {"type": "string", "description": _API_VERSION},
        "kind": {"type": "string", "description": _KIND},
        "metadata": {"allOf": [_METADATA], "description": _OBJECT_METADATA},
    }
    made["x-kubernetes-group-version-kind"] = [dict(kind)]
    return made


def _clean(schema: Mapping[str, Any]) -> dict[str, Any]:
    made = {name: value for name, value in schema.items() if name not in _DROPPED}
    for name in _MAPS:
        if name in made:
            made[name] = {key: _clean(value) for key, value in made[name].items()}
    for name in _LISTS:
        if name in made:
            made[name] = [_clean(value) for value in made[name]]
    for name in _SINGLE:
        if isinstance(made.get(name), Mapping):
            made[name] = _clean(made[name])
    if made.get("x-kubernetes-embedded-resource"):
        inner = made.setdefault("properties", {})
        made["properties"] = {**inner, "metadata": {"allOf": [_METADATA]}}
    return made
