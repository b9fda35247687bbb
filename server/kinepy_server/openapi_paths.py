"""OpenAPI v3 operations of every resource: what kubectl looks at before it explains, validates and writes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from kinepy_server.negotiate import MEDIA_TYPES
from kinepy_server.openapi_schemas import list_schema, reference, schema_of_kind
from kinepy_server.patch.formats import FORMATS, STRATEGIC_MERGE_PATCH
from kinepy_server.resources.resource import Resource, Subresource

Json: TypeAlias = dict[str, Any]

OPTIONS, STATUS, PATCH = "meta.v1.DeleteOptions", "meta.v1.Status", "meta.v1.Patch"
_READ = ("pretty",)
_WRITE = ("dryRun", "fieldManager", "fieldValidation", "pretty")
_LIST = (
    "allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "pretty", "resourceVersion",
    "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch",
)  # fmt: skip
_DELETE = (
    "dryRun", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential", "orphanDependents",
    "pretty", "propagationPolicy",
)  # fmt: skip
_INTEGERS = frozenset(("limit", "timeoutSeconds", "gracePeriodSeconds"))
_BOOLEANS = frozenset(
    (
        "allowWatchBookmarks", "force", "ignoreStoreReadErrorWithClusterBreakingPotential", "orphanDependents",
        "sendInitialEvents", "watch",
    )
)  # fmt: skip

OPERATIONS: Mapping[str, tuple[str, str, Sequence[str], int]] = {
    "get": ("get", "read", _READ, 200),
    "list": ("get", "list", _LIST, 200),
    "create": ("post", "create", _WRITE, 201),
    "update": ("put", "replace", _WRITE, 200),
    "patch": ("patch", "patch", ("force", *_WRITE), 200),
    "delete": ("delete", "delete", _DELETE, 200),
    "deletecollection": ("delete", "deletecollection", _LIST, 200),
}
"""verb -> method, first word of the operationId, query parameters, code of success."""
_ACTIONS = {"create": "post", "update": "put"}


def path_items(resource: Resource) -> Json:
    """The path items of a resource and its subresources, by path."""
    root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.api_version}"
    base = (
        f"{root}/namespaces/{{namespace}}/{resource.plural}"
        if resource.namespaced
        else f"{root}/{resource.plural}"
    )
    paths = {
        base: _item(resource, ("list", "create", "deletecollection"), scope=("namespace",)),
        f"{base}/{{name}}": _item(
            resource, ("get", "update", "patch", "delete"), scope=("name", "namespace")
        ),
    }
    if resource.namespaced and "list" in resource.verbs:
        paths[f"{root}/{resource.plural}"] = _item(resource, ("list",), scope=(), suffix="ForAllNamespaces")
    for subresource in resource.subresources.values():
        item = _subresource_item(resource, subresource)
        paths[f"{base}/{{name}}/{subresource.name}"] = item
    return paths


def _item(resource: Resource, verbs: Iterable[str], *, scope: Sequence[str], suffix: str = "") -> Json:
    item: Json = {}
    for verb in verbs:
        if verb in resource.verbs:
            item[OPERATIONS[verb][0]] = _operation(resource, verb, suffix=suffix, kind=_kind(resource))
    return item | _path_parameters(resource, scope)


def _subresource_item(resource: Resource, subresource: Subresource) -> Json:
    kind = subresource_kind(resource, subresource)
    item = {
        OPERATIONS[verb][0]: _operation(resource, verb, suffix=subresource.name.capitalize(), kind=kind)
        for verb in subresource.verbs
        if verb in OPERATIONS
    }
    return item | _path_parameters(resource, ("name", "namespace"))


def _kind(resource: Resource) -> Json:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def subresource_kind(resource: Resource, subresource: Subresource) -> Json:
    """Group, version and kind of what a subresource takes and returns."""
    group = subresource.group if subresource.version else resource.group
    return {"group": group, "version": subresource.version or resource.version, "kind": subresource.kind}


def _path_parameters(resource: Resource, scope: Sequence[str]) -> Json:
    names = [name for name in scope if name != "namespace" or resource.namespaced]
    parameters = [_parameter(name, place="path") | {"required": True} for name in names]
    return {"parameters": parameters} if parameters else {}


def _parameter(name: str, *, place: str) -> Json:
    kind = "integer" if name in _INTEGERS else "boolean" if name in _BOOLEANS else "string"
    return {"name": name, "in": place, "schema": {"type": kind, "uniqueItems": True}}


def _operation(resource: Resource, verb: str, *, suffix: str, kind: Json) -> Json:
    _, word, parameters, code = OPERATIONS[verb]
    tag = f"{_group_word(resource.group)}{resource.version.capitalize()}"
    scope = "Namespaced" if resource.namespaced and suffix != "ForAllNamespaces" else ""
    first, collection = ("delete", "Collection") if verb == "deletecollection" else (word, "")
    operation: Json = {
        "tags": [f"{_snake(tag, resource.version)}"],
        "operationId": f"{first}{tag}{collection}{scope}{resource.kind}{suffix}",
        "parameters": [_parameter(name, place="query") for name in parameters],
        "responses": {
            str(code): {
                "description": "OK" if code == 200 else "Created",
                "content": _answer(resource, verb, kind),
            }
        },
        "x-kubernetes-action": _ACTIONS.get(verb, verb),
        "x-kubernetes-group-version-kind": kind,
    }
    body = _request_body(resource, verb, kind)
    return operation | ({"requestBody": body} if body else {})


def _request_body(resource: Resource, verb: str, kind: Json) -> Json:
    match verb:
        case "create" | "update":
            return {"required": True, "content": {"*/*": {"schema": _own(resource, kind)}}}
        case "patch":
            formats = [one for one in FORMATS if resource.strategic_merge or one != STRATEGIC_MERGE_PATCH]
            content = {media_type: {"schema": reference(PATCH)} for media_type in formats}
            return {"required": True, "content": content}
        case "delete" | "deletecollection":
            return {"content": {"*/*": {"schema": reference(OPTIONS)}}}
        case _:
            return {}


def _answer(resource: Resource, verb: str, kind: Json) -> Json:
    if verb == "list":
        schema = reference(list_schema(resource))
    elif verb == "deletecollection" or (verb == "delete" and not resource.delete_returns_object):
        schema = reference(STATUS)
    else:
        schema = _own(resource, kind)
    return {media_type: {"schema": schema} for media_type in MEDIA_TYPES[:2]}


def _own(resource: Resource, kind: Json) -> Json:
    """The schema of what an operation takes and returns: the resource's, or the subresource's own."""
    if kind == _kind(resource):
        return reference(resource.schema)
    schema = schema_of_kind(kind)
    return reference(schema) if schema else {"type": "object"}


def _group_word(group: str) -> str:
    if not group:
        return "Core"
    return "".join(part.capitalize() for part in group.removesuffix(".k8s.io").split("."))


def _snake(tag: str, version: str) -> str:
    return f"{tag[: -len(version)][:1].lower()}{tag[1 : -len(version)]}_{version}"
