"""The built-in resources: the data files, joined with what only code can say about a type."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from kinepy_server.data import table
from kinepy_server.resources import cells, events
from kinepy_server.resources.field_labels import field_labels
from kinepy_server.resources.registry import Group, Registry
from kinepy_server.resources.resource import Column, JsonObject, Resource, Strategy, Subresource
from kinepy_server.resources.strategies.configmap import ConfigMapStrategy
from kinepy_server.resources.strategies.event import CoreEventStrategy, EventStrategy
from kinepy_server.resources.strategies.lease import LeaseStrategy
from kinepy_server.resources.strategies.namespace import NamespaceStrategy
from kinepy_server.resources.strategies.plain import PlainStrategy
from kinepy_server.resources.strategies.secret import SecretStrategy

Conversion = Callable[[JsonObject], JsonObject]

STRATEGIES: Mapping[str, Strategy] = {
    "v1/configmaps": ConfigMapStrategy(),
    "v1/events": CoreEventStrategy(),
    "v1/namespaces": NamespaceStrategy(),
    "v1/secrets": SecretStrategy(),
    "coordination.k8s.io/v1/leases": LeaseStrategy(),
    "events.k8s.io/v1/events": EventStrategy(),
}
"""Types that do more than all types do; the others have a `PlainStrategy`."""

CELLS: Mapping[str, cells.Cells] = {
    "v1/configmaps": cells.configmap,
    "v1/events": cells.core_event,
    "v1/namespaces": cells.namespace,
    "v1/secrets": cells.secret,
    "v1/serviceaccounts": cells.name_and_age,
    "coordination.k8s.io/v1/leases": cells.lease,
    "events.k8s.io/v1/events": cells.event,
}

CONVERSIONS: Mapping[str, tuple[Conversion, Conversion]] = {
    "events.k8s.io/v1/events": (events.from_core, events.to_core),
}
"""Resources kept in another version than their own: from storage, to storage."""


@cache
def builtin_registry() -> Registry:
    """The registry of the enabled built-in resources."""
    data = table("resources")
    groups = [Group(g["group"], tuple(g["versions"]), g["preferred"]) for g in data["groups"]]
    resources = [_resource(key, entry) for key, entry in data["resources"].items()]
    return Registry(resources, groups, kinds=table("schemas")["kinds"])


def _resource(key: str, entry: Mapping[str, Any]) -> Resource:
    from_storage, to_storage = CONVERSIONS.get(key, (None, None))
    return Resource(
        group=entry["group"],
        version=entry["version"],
        plural=entry["plural"],
        singular=entry["singular"],
        kind=entry["kind"],
        list_kind=entry["listKind"],
        namespaced=entry["namespaced"],
        verbs=tuple(entry["verbs"]),
        short_names=tuple(entry["shortNames"]),
        categories=tuple(entry["categories"]),
        storage_version_hash=entry["storageVersionHash"],
        subresources={name: _subresource(name, sub) for name, sub in entry["subresources"].items()},
        key_prefix=entry["keyPrefix"],
        storage_api_version=entry["storageVersion"],
        from_storage=from_storage,
        to_storage=to_storage,
        name_rule=entry["nameRule"],
        unconditional_update=entry["unconditionalUpdate"],
        create_on_update=entry["createOnUpdate"],
        delete_returns_object=entry["deleteReturnsObject"],
        has_generation=entry["hasGeneration"],
        default_propagation=entry["defaultPropagation"],
        field_labels=field_labels(key, entry["fieldLabels"]),
        selects_namespace="metadata.namespace" in entry["fieldLabels"],
        field_label_error=entry["fieldLabelError"],
        strategy=STRATEGIES.get(key, PLAIN_STRATEGY),
        schema=entry["schema"],
        columns=tuple(Column(c[0], c[1], c[2], c[4], c[3]) for c in entry["columns"]),
        cells=CELLS.get(key),
    )


PLAIN_STRATEGY = PlainStrategy()


def _subresource(name: str, entry: Mapping[str, Any]) -> Subresource:
    return Subresource(
        name,
        entry["kind"],
        tuple(entry["verbs"]),
        entry.get("responseGroup", ""),
        entry.get("responseVersion", ""),
    )
