"""Discovery: which groups, versions and resources there are (DISC-1..5), and the list of paths at `/`.

Everything is computed once per registry. `/api` and `/apis` have a second, aggregated form, which a client
asks for in its Accept header and recognizes by the Content-Type of the answer.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha512
from typing import Any, TypeAlias

import orjson

from kinepy_server.aggregation.merging import Catalog
from kinepy_server.context import Context
from kinepy_server.errors import method_not_allowed, page_not_found, unknown_resource
from kinepy_server.negotiate import ANSWER_TYPES, PROTOBUF, AnswerType, not_acceptable, parse_accept
from kinepy_server.request import Request
from kinepy_server.resources.registry import Group, Registry
from kinepy_server.resources.resource import Resource, Subresource
from kinepy_server.response import Response
from kinepy_server.seams import Page
from kinepy_server.wire.protobuf import seal_object
from kinepy_server.wire.yaml_text import yaml_of_json

Json: TypeAlias = dict[str, Any]

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_AGGREGATED_PARAMETERS = {"g": "apidiscovery.k8s.io", "v": "v2", "as": "APIGroupDiscoveryList"}
_VARY = {"Vary": "Accept"}
OTHER_PATHS = (
    *(f"/{name}{below}" for name in ("healthz", "livez", "readyz") for below in ("", "/ping")),
    "/metrics", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/version",
)  # fmt: skip
"""Paths beside the discovery ones that `/` lists."""
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def discovery_pages() -> Sequence[Page]:
    """The pages of discovery. They judge methods themselves: an unknown path is 404 whatever the method."""
    return [
        Page("/", handle_root),
        Page("/api/*", handle_discovery, METHODS),
        Page("/apis/*", handle_discovery, METHODS),
    ]


async def handle_root(context: Context, request: Request) -> Response:
    """The paths of the server, in order."""
    return Response(200, _root(_catalog(context)))


async def handle_discovery(context: Context, request: Request) -> Response:
    """`/api`, `/apis` and what is below them, without the resources themselves."""
    root, *below = request.path.removesuffix("/").removeprefix("/").split("/")
    catalog = _catalog(context)
    if not _exists(catalog, root, below):
        raise _missing(context.registry.shown, root, below)
    if request.method not in ("GET", "HEAD"):
        raise method_not_allowed()
    accept = request.headers.get("accept", "")
    chosen = _choose(accept, aggregated=not below)
    if chosen == "aggregated":
        return _aggregated_answer(_aggregated(catalog, root), request)
    body = (
        _api_versions(context, request) if root == "api" and not below else _plain_body(catalog, root, below)
    )
    if chosen == "yaml":
        return Response(200, yaml_of_json(body), "application/yaml", dict(_VARY))
    if chosen == "protobuf":
        return Response(200, _sealed(body), PROTOBUF, dict(_VARY))
    return Response(200, body, headers=dict(_VARY) if not below else {})


def _sealed(body: bytes) -> bytes:
    obj = {"apiVersion": "v1"} | orjson.loads(body)
    if obj["kind"] == "APIVersions":
        obj["apiVersion"] = ""
    sealed = seal_object(obj)
    assert sealed is not None, "what discovery tells has a message"
    return sealed


def _catalog(context: Context) -> Catalog:
    return Catalog(context.registry.shown, context.aggregation.published)


def _exists(catalog: Catalog, root: str, below: Sequence[str]) -> bool:
    registry = catalog.registry
    if root == "api":
        return (
            bool(registry.resources("", below[0])) if len(below) == 1 else not below and _has_core(registry)
        )
    if not below:
        return True
    if not below[0] or catalog.group(below[0]) is None:
        return False
    return len(below) == 1 or (len(below) == 2 and bool(registry.resources(*below)))


def _has_core(registry: Registry) -> bool:
    """Whether the core group is served, as it is but by aggregated servers."""
    return registry.group("") is not None


def _missing(registry: Registry, root: str, below: Sequence[str]) -> Exception:
    """An unknown version of a group that is served is told in JSON, everything else as text (HTTP-4)."""
    if not below:
        return page_not_found()
    version = below[0] if root == "api" else below[-1]
    of_known_group = (
        len(below) == 1 and _has_core(registry)
        if root == "api"
        else len(below) == 2 and registry.group(below[0]) is not None and registry.part(below[0]) is None
    )
    return unknown_resource() if of_known_group and version else page_not_found()


def _choose(accept: str, *, aggregated: bool) -> AnswerType | str:
    """`json`, `yaml`, `protobuf` or `aggregated`; raises 406."""
    if not accept:
        return "json"
    for clause in parse_accept(accept):
        parameters = dict(clause.parameters)
        wanted = {name: value for name, value in parameters.items() if name in _AGGREGATED_PARAMETERS}
        if (
            wanted == _AGGREGATED_PARAMETERS
            and aggregated
            and (clause.type, clause.subtype) == ("application", "json")
        ):
            return "aggregated"
        if wanted:
            continue
        for media_type, answer in ANSWER_TYPES.items():
            kind, _, subtype = media_type.partition("/")
            if clause.type in (kind, "*") and clause.subtype in (subtype, "*"):
                return answer
    raise not_acceptable()


def _aggregated_answer(document: tuple[bytes, str], request: Request) -> Response:
    body, etag = document
    headers = {"ETag": etag, "Vary": "Accept", "Cache-Control": "public"}
    asked = (part.strip() for part in request.headers.get("if-none-match", "").split(","))
    if etag in asked:
        return Response(304, b"", AGGREGATED, headers)
    return Response(200, body, AGGREGATED, headers, verbatim=True)


def _api_versions(context: Context, request: Request) -> bytes:
    address = context.settings.advertised_address or request.headers.get("host", "")
    core = context.registry.shown.group("")
    return orjson.dumps(
        {
            "kind": "APIVersions",
            "versions": list(core.versions) if core else [],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
        }
    )


# --- computed once per registry


@lru_cache(maxsize=4)
def _root(catalog: Catalog) -> bytes:
    paths = {"/apis", "/apis/", *OTHER_PATHS}
    for group in catalog.groups():
        base = f"/apis/{group.name}" if group.name else "/api"
        paths |= {base, *(f"{base}/{version}" for version in group.versions)}
    return orjson.dumps({"paths": sorted(paths)})


def _plain_body(catalog: Catalog, root: str, below: Sequence[str]) -> bytes:
    if not below:
        return _group_list(catalog)
    registry = catalog.registry
    if catalog.published is not None and root == "apis" and len(below) == 1:
        group = catalog.group(below[0])
        assert group is not None
        return _group_body(group)
    # What is told of a group lasts as long as the group, whatever becomes of others.
    return _plain(registry.owner(below[0] if root == "apis" else ""), root, *below)


@lru_cache(maxsize=4)
def _group_list(catalog: Catalog) -> bytes:
    groups = [_group(group) for group in catalog.groups() if group.name]
    return orjson.dumps({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})


@lru_cache(maxsize=1024)
def _plain(registry: Registry, root: str, *below: str) -> bytes:
    if root == "api":
        return orjson.dumps(_resource_list(registry, "", below[0]))
    match below:
        case (name,):
            group = registry.group(name)
            assert group is not None
            return _group_body(group)
        case _:
            return orjson.dumps(_resource_list(registry, *below))


def _group_body(group: Group) -> bytes:
    return orjson.dumps({"kind": "APIGroup", "apiVersion": "v1", **_group(group)})


def _group(group: Group) -> Json:
    versions = {
        version: {"groupVersion": f"{group.name}/{version}", "version": version} for version in group.versions
    }
    return {
        "name": group.name,
        "versions": list(versions.values()),
        "preferredVersion": versions[group.preferred],
    }


def _resource_list(registry: Registry, group: str, version: str) -> Json:
    entries = [entry for resource in registry.resources(group, version) for entry in _entries(resource)]
    # Only the list of the core group carries no apiVersion.
    head: Json = {"kind": "APIResourceList"} | ({"apiVersion": "v1"} if group else {})
    return head | {"groupVersion": f"{group}/{version}" if group else version, "resources": entries}


def _entries(resource: Resource) -> list[Json]:
    entry: Json = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
        "shortNames": list(resource.short_names),
        "categories": list(resource.categories),
        "storageVersionHash": resource.storage_version_hash,
    }
    optional = ("shortNames", "categories", "storageVersionHash")
    own = {name: value for name, value in entry.items() if value or name not in optional}
    return [own, *(_subresource_entry(resource, subresource) for subresource in _listed(resource))]


def _listed(resource: Resource) -> Sequence[Subresource]:
    """The subresources in order; those of custom resources have one of their own."""
    found = list(resource.subresources.values())
    return found if resource.shape is not None else sorted(found, key=lambda subresource: subresource.name)


def _subresource_entry(resource: Resource, subresource: Subresource) -> Json:
    other_type = {"group": subresource.group, "version": subresource.version} if subresource.version else {}
    return {
        "name": f"{resource.plural}/{subresource.name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        **other_type,
        "kind": subresource.kind,
        "verbs": list(subresource.verbs),
    }


@lru_cache(maxsize=8)
def _aggregated(catalog: Catalog, root: str) -> tuple[bytes, str]:
    """The aggregated document of `/api` or `/apis`, and its ETag."""
    groups = [g for g in catalog.described_groups() if bool(g.name) == (root == "apis")]
    body = orjson.dumps(
        {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": "apidiscovery.k8s.io/v2",
            "metadata": {},
            "items": [_aggregated_group(catalog, group) for group in groups],
        }
    )
    return body, f'"{sha512(body).hexdigest().upper()}"'


def _aggregated_group(catalog: Catalog, group: Group) -> Json:
    registry = catalog.registry
    versions = [
        catalog.told(group.name, version)
        or {
            "version": version,
            "resources": [
                _aggregated_resource(resource) for resource in registry.resources(group.name, version)
            ],
            "freshness": "Current",
        }
        for version in group.versions
    ]
    return {"metadata": {"name": group.name} if group.name else {}, "versions": versions}


def _aggregated_resource(resource: Resource) -> Json:
    # The kinds of the core group are told without group and version.
    version = resource.version if resource.group else ""
    entry: Json = {
        "resource": resource.plural,
        "responseKind": _response_kind(resource.group, version, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    subresources: list[Mapping[str, Any]] = [
        {
            "subresource": subresource.name,
            "responseKind": _response_kind(
                subresource.group or resource.group, subresource.version or version, subresource.kind
            ),
            "verbs": list(subresource.verbs),
        }
        for subresource in _listed(resource)
    ]
    optional = {
        "shortNames": list(resource.short_names),
        "categories": list(resource.categories),
        "subresources": subresources,
    }
    return entry | {name: value for name, value in optional.items() if value}


def _response_kind(group: str, version: str, kind: str) -> Json:
    return {"group": group, "version": version, "kind": kind}
