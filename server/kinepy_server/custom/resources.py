"""From a definition to the resources that it makes, one for each version (CRD-5, CRD-7, CRD-20..24)."""

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any

from kinepy_server.custom.cautions import finalizer_cautions
from kinepy_server.custom.columns import printed
from kinepy_server.custom.definition import Definition, Names, Version
from kinepy_server.custom.paths import names_of, value_at
from kinepy_server.custom.shape import CustomShape, Life
from kinepy_server.custom.strategy import CustomStrategy
from kinepy_server.resources.registry import Group, Registry
from kinepy_server.resources.resource import Converter, FieldError, JsonObject, Resource, Scaling, Subresource

VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_SUBRESOURCE_VERBS = ("get", "patch", "update")
_WARNED = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_KUBE_VERSION = re.compile(r"v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?", re.ASCII)
_LEVELS = {"alpha": 0, "beta": 1, None: 2}


def version_rank(name: str) -> tuple[Any, ...]:
    """The place of a version among others, the highest one the newest: releases, then betas, then alphas, then
    anything else by its name."""
    match = _KUBE_VERSION.fullmatch(name)
    if match is None:
        return (0, tuple(-ord(character) for character in name))
    major, level, minor = match.groups()
    return (1, _LEVELS[level], int(major), int(minor or 0))


def group_registry(group: str, resources: Iterable[Resource], *, unserved: Iterable[Resource]) -> Registry:
    """The part of a registry that serves one group."""
    found = list(resources)
    versions = sorted({one.version for one in found}, key=version_rank, reverse=True)
    groups = [Group(group, versions, versions[0])] if versions else []
    return Registry(found, groups, kinds={}, unserved=unserved)


def resources_of(
    definition: Definition, names: Names, life: Life, *, converter: Converter | None
) -> tuple[list[Resource], list[Resource]]:
    """The resources that are served, and that in whose version objects are stored, if it is not served."""
    storage = CustomShape(definition, definition.storage, life=life)
    served, unserved = [], []
    for version in definition.versions:
        shape = storage if version.storage else CustomShape(definition, version, life=life)
        resource = _resource(definition, version, names, shapes=(storage, shape))
        if converter is not None:
            resource = replace(
                resource, converter=converter, from_storage=partial(_from_storage, (shape, shape))
            )
        if version.served:
            served.append(resource)
        elif version.storage:
            unserved.append(resource)
    return served, unserved


def _resource(
    definition: Definition, version: Version, names: Names, *, shapes: tuple[CustomShape, CustomShape]
) -> Resource:
    shape = shapes[1]
    parts, group = version.parts, definition.group
    subresources = parts.get("subresources") or {}
    scale = subresources.get("scale")
    columns, cells = printed(parts.get("additionalPrinterColumns") or ())
    return Resource(
        group=group,
        version=version.name,
        plural=names.plural,
        singular=names.singular,
        kind=names.kind,
        list_kind=names.list_kind,
        namespaced=definition.namespaced,
        verbs=VERBS,
        short_names=names.short_names,
        categories=names.categories,
        storage_version_hash=_hash(f"{group}/{definition.storage.name}/{names.kind}"),
        subresources=_subresources(subresources, names.kind),
        key_prefix=f"/registry/{group}/{names.plural}",
        storage_api_version=f"{group}/{definition.storage.name}",
        from_storage=partial(_from_storage, shapes),
        name_rule="dnsSubdomain",
        unconditional_update=False,
        create_on_update=False,
        delete_returns_object=False,
        has_generation=True,
        validates_finalizer_names=False,
        list_items_carry_kind=True,
        field_labels=_field_labels(parts.get("selectableFields") or ()),
        protobuf=False,
        strategic_merge=False,
        strategy=CustomStrategy(
            lambda: shape.structural,
            has_status="status" in subresources,
            replicas_errors=_replicas_errors(scale) if scale else None,
        ),
        schema=f"{'.'.join(reversed(group.split('.')))}.{version.name}.{names.kind}",
        columns=columns,
        cells=cells,
        scaling=_scaling(scale) if scale else None,
        warnings=_warnings(definition, version, names),
        cautions=finalizer_cautions,
        shape=shape,
    )


def _hash(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()[:8]).decode()


def _from_storage(shapes: tuple[CustomShape, CustomShape], obj: JsonObject) -> JsonObject:
    stored, shown = shapes
    stored.settle(obj)
    if shown is not stored:
        shown.settle(obj)
    return obj


def _subresources(declared: Mapping[str, Any], kind: str) -> Mapping[str, Subresource]:
    found = {}
    if "status" in declared:
        found["status"] = Subresource("status", kind, _SUBRESOURCE_VERBS)
    if "scale" in declared:
        found["scale"] = Subresource("scale", "Scale", _SUBRESOURCE_VERBS, "autoscaling", "v1")
    return found


# --- scale


def _scaling(declared: Mapping[str, str]) -> Scaling:
    wanted, path = declared["specReplicasPath"], declared.get("labelSelectorPath", "")

    def selector(obj: JsonObject) -> str:
        value = value_at(obj, names_of(path)) if path else ""
        return value if isinstance(value, str) else ""

    return Scaling(wanted.lstrip("."), declared["statusReplicasPath"].lstrip("."), selector, wanted)


def _replicas_errors(declared: Mapping[str, str]) -> Callable[[JsonObject], Sequence[FieldError]]:
    paths = [declared["specReplicasPath"], declared["statusReplicasPath"]]

    def errors(obj: JsonObject) -> Sequence[FieldError]:
        found = [(path, value_at(obj, names_of(path))) for path in paths]
        return [
            FieldError(path, "FieldValueInvalid", f"Invalid value: {value}: should be a non-negative integer")
            for path, value in found
            if isinstance(value, int) and value < 0
        ]

    return errors


# --- selectable fields


def _field_labels(declared: Sequence[Mapping[str, str]]) -> Mapping[str, Callable[[JsonObject], str]]:
    return {one["jsonPath"].lstrip("."): _reader(names_of(one["jsonPath"])) for one in declared}


def _reader(names: Sequence[str]) -> Callable[[JsonObject], str]:
    def read(obj: JsonObject) -> str:
        value = value_at(obj, names)
        if isinstance(value, bool):
            return "true" if value else "false"
        return "" if value is None else str(value)

    return read


# --- deprecation


def _warnings(definition: Definition, version: Version, names: Names) -> Mapping[str, str]:
    if not version.parts.get("deprecated"):
        return {}
    text = version.parts.get("deprecationWarning") or _deprecation(definition, version, names)
    return dict.fromkeys(_WARNED, text)


def _deprecation(definition: Definition, version: Version, names: Names) -> str:
    text = f"{definition.group}/{version.name} {names.kind} is deprecated"
    newer = [
        one.name
        for one in definition.versions
        if one.served
        and not one.parts.get("deprecated")
        and version_rank(one.name) > version_rank(version.name)
    ]
    if not newer:
        return text
    best = max(newer, key=version_rank)
    return f"{text}; use {definition.group}/{best} {names.kind}"
