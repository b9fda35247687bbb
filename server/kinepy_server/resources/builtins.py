"""The built-in resources: the data files, joined with what only code can say about a type."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from kinepy_server.custom.cautions import definition_cautions
from kinepy_server.custom.definition_strategy import DefinitionStrategy
from kinepy_server.data import table
from kinepy_server.resources import autoscaling, events
from kinepy_server.resources.cells import CELLS
from kinepy_server.resources.cells.pods import pod_conditions
from kinepy_server.resources.field_labels import field_labels
from kinepy_server.resources.registry import Group, Registry
from kinepy_server.resources.resource import Column, JsonObject, Resource, Strategy, Subresource
from kinepy_server.resources.scaling import SCALINGS
from kinepy_server.resources.strategies.configmap import ConfigMapStrategy
from kinepy_server.resources.strategies.event import CoreEventStrategy, EventStrategy
from kinepy_server.resources.strategies.hooks import HOOKS
from kinepy_server.resources.strategies.hooks.certificates import sign_request
from kinepy_server.resources.strategies.lease import LeaseStrategy
from kinepy_server.resources.strategies.namespace import NamespaceStrategy
from kinepy_server.resources.strategies.plain import PlainStrategy
from kinepy_server.resources.strategies.secret import SecretStrategy
from kinepy_server.resources.strategies.typed import Hooks, Rules, TypeStrategy

Conversion = Callable[[JsonObject], JsonObject]

STRATEGIES: Mapping[str, Strategy] = {
    "v1/configmaps": ConfigMapStrategy(),
    "v1/events": CoreEventStrategy(),
    "v1/namespaces": NamespaceStrategy(),
    "v1/secrets": SecretStrategy(),
    "v1/serviceaccounts": PlainStrategy(),
    "apiextensions.k8s.io/v1/customresourcedefinitions": DefinitionStrategy(),
    "coordination.k8s.io/v1/leases": LeaseStrategy(),
    "events.k8s.io/v1/events": EventStrategy(),
}
"""Small types that are written often; the others have a `TypeStrategy`."""

CONVERSIONS: Mapping[str, tuple[Conversion, Conversion]] = {
    "autoscaling/v1/horizontalpodautoscalers": (autoscaling.from_v2, autoscaling.to_v2),
    "events.k8s.io/v1/events": (events.from_core, events.to_core),
}
"""Resources kept in another version than their own: from storage, to storage."""

_JOB_ORPHANS = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set"
    " propagationPolicy=Orphan to suppress this warning"
)
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_ENDPOINTS_DEPRECATED = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
WARNINGS: Mapping[str, Mapping[str, str]] = {
    "batch/v1/jobs": {"orphaned": _JOB_ORPHANS},
    "v1/componentstatuses": dict.fromkeys(_VERBS, "v1 ComponentStatus is deprecated in v1.19+"),
    "v1/endpoints": dict.fromkeys(_VERBS, _ENDPOINTS_DEPRECATED),
}

CAUTIONS: Mapping[str, Callable[[JsonObject, JsonObject | None], Sequence[str]]] = {
    "apiextensions.k8s.io/v1/customresourcedefinitions": definition_cautions,
}

_ONE_REPLICA = {"spec": {"replicas": 0}}
BOOKMARK_VALUES: Mapping[str, JsonObject] = {
    "apps/v1/deployments": _ONE_REPLICA,
    "apps/v1/replicasets": _ONE_REPLICA,
    "apps/v1/statefulsets": _ONE_REPLICA,
}
"""Fields that the original's internal types always have."""


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
        validates_finalizer_names=entry["group"] != "apiextensions.k8s.io",
        default_propagation=entry["defaultPropagation"],
        field_labels=field_labels(key, entry["fieldLabels"]),
        selects_namespace="metadata.namespace" in entry["fieldLabels"],
        field_label_error=entry["fieldLabelError"],
        strategy=STRATEGIES.get(key) or _strategy(entry),
        schema=entry["schema"],
        columns=tuple(map(Column.of, entry["columns"])),
        cells=CELLS.get(key),
        row_conditions=pod_conditions if key == "v1/pods" else None,
        warnings=WARNINGS.get(key, {}),
        sign=sign_request if key == "certificates.k8s.io/v1/certificatesigningrequests" else None,
        scaling=SCALINGS.get(key),
        cautions=CAUTIONS.get(key),
        bookmark_values=BOOKMARK_VALUES.get(key, {}),
    )


def _strategy(entry: Mapping[str, Any]) -> TypeStrategy:
    rules = entry["rules"]
    return TypeStrategy(
        entry["schema"],
        Rules(
            generation_by=rules.get("generationBy", ("spec",)),
            has_generation=entry["hasGeneration"] or rules.get("generationStartsAbsent", False),
            keeps_status_on_create=rules.get("keepsStatusOnCreate", False),
            finalizers=rules.get("finalizers", ()),
            annotations=rules.get("annotations", {}),
            status_keeps=rules.get("statusKeeps", ()),
        ),
        HOOKS.get(entry["schema"], Hooks()),
    )


def _subresource(name: str, entry: Mapping[str, Any]) -> Subresource:
    return Subresource(
        name,
        entry["kind"],
        tuple(entry["verbs"]),
        entry.get("responseGroup", ""),
        entry.get("responseVersion", ""),
    )
