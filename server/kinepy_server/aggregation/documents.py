"""What backends tell of their resources, in the form that aggregated discovery has. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

Json = Mapping[str, Any]
GroupVersion = tuple[str, str]

CURRENT, STALE = "Current", "Stale"
_SAME = (("verbs", "verbs"), ("shortNames", "shortNames"), ("categories", "categories"))


class BadDocument(Exception):
    """The backend has told something else than what was asked for."""


def entry(version: str, told: Json | None, *, freshness: str) -> Json:
    """The entry of a group version; without resources where nothing is known."""
    resources = told.get("resources") if told is not None else None
    return {"version": version} | ({"resources": resources} if resources else {}) | {"freshness": freshness}


def of_all(body: bytes) -> Mapping[GroupVersion, Json]:
    """The group versions of an aggregated document. Raises BadDocument."""
    found: dict[GroupVersion, Json] = {}
    for group in _items(_object(body), "items"):
        metadata = group.get("metadata") or {}
        if not isinstance(metadata, dict):
            raise BadDocument("metadata is no object")
        for version in _items(group, "versions"):
            for resource in _items(version, "resources"):
                _check(resource, "resource")
            found[str(metadata.get("name") or ""), str(version.get("version"))] = version
    return found


def of_one(body: bytes) -> Json:
    """A group version from the list of its resources. Raises BadDocument."""
    resources: dict[str, dict[str, Any]] = {}
    subresources: list[Json] = []
    for resource in _items(_object(body), "resources"):
        name = _check(resource, "name")
        if "/" in name:
            subresources.append(resource)
        else:
            resources[name] = _resource(resource)
    for subresource in subresources:
        parent, _, name = subresource["name"].partition("/")
        if parent in resources:
            resources[parent].setdefault("subresources", []).append(_subresource(subresource, name))
    return {"resources": list(resources.values())}


def openapi_paths(body: bytes) -> Mapping[str, str]:
    """The addresses of descriptions, by path below /openapi/v3. Raises BadDocument."""
    paths = _object(body).get("paths")
    if not isinstance(paths, dict):
        raise BadDocument("paths is no object")
    return {
        path: str(found["serverRelativeURL"])
        for path, found in paths.items()
        if isinstance(found, dict) and found.get("serverRelativeURL")
    }


def _resource(told: Json) -> dict[str, Any]:
    made: dict[str, Any] = {
        "resource": told["name"],
        "responseKind": _kind(told),
        "scope": "Namespaced" if told.get("namespaced") else "Cluster",
        "singularResource": told.get("singularName") or "",
    }
    return made | {name: told[source] for name, source in _SAME if told.get(source)}


def _subresource(told: Json, name: str) -> Json:
    made: dict[str, Any] = {"subresource": name, "responseKind": _kind(told)}
    return made | ({"verbs": told["verbs"]} if told.get("verbs") else {})


def _kind(told: Json) -> Json:
    return {name: told.get(name) or "" for name in ("group", "version", "kind")}


def _check(resource: Json, member: str) -> str:
    """The name of a resource."""
    name, verbs = resource.get(member), resource.get("verbs")
    if not isinstance(name, str):
        raise BadDocument("a resource has no name")
    if verbs is not None and not isinstance(verbs, list):
        raise BadDocument("verbs is no list")
    return name


def _object(body: bytes) -> Json:
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadDocument(str(error)) from None
    if not isinstance(found, dict):
        raise BadDocument("no object")
    return found


def _items(obj: Json, name: str) -> Iterator[Json]:
    items = obj.get(name) or ()
    if not isinstance(items, (list, tuple)):
        raise BadDocument(f"{name} is no list")
    for item in items:
        if not isinstance(item, dict):
            raise BadDocument(f"{name} holds something else than objects")
        yield item
