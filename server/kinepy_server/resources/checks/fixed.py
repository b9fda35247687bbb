"""What may not change once an object exists: for each type the field that is told, where it is, and how."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from kinepy_server.resources.checks.causes import forbidden, invalid, path_of
from kinepy_server.resources.resource import FieldError, JsonObject

Fixed: TypeAlias = tuple[str, str, str]
"""Field that the cause names, path that is compared, and what is said: empty for `field is immutable`."""

IMMUTABLE = "field is immutable"
FIXED: Mapping[str, Sequence[Fixed]] = {
    "apps.v1.DaemonSet": (("spec.selector", "spec.selector", ""),),
    "apps.v1.Deployment": (("spec.selector", "spec.selector", ""),),
    "apps.v1.ReplicaSet": (("spec.selector", "spec.selector", ""),),
    "batch.v1.Job": (
        ("spec.completionMode", "spec.completionMode", ""),
        ("spec.podFailurePolicy", "spec.podFailurePolicy", ""),
        ("spec.backoffLimitPerIndex", "spec.backoffLimitPerIndex", ""),
        ("spec.selector", "spec.selector", ""),
    ),
    "discovery.v1.EndpointSlice": (("addressType", "addressType", ""),),
    "networking.v1.IPAddress": (("spec.parentRef", "spec.parentRef", ""),),
    "networking.v1.IngressClass": (("spec.controller", "spec.controller", ""),),
    "networking.v1.ServiceCIDR": (("spec.cidrs[0]", "spec.cidrs", ""),),
    "node.v1.RuntimeClass": (("handler", "handler", ""),),
    "resource.v1.ResourceClaim": (("spec", "spec", ""),),
    "resource.v1.ResourceClaimTemplate": (("spec", "spec", ""),),
    "resource.v1.ResourceSlice": (
        ("spec.driver", "spec.driver", ""),
        ("spec.pool.name", "spec.pool.name", ""),
    ),
    "scheduling.v1.PriorityClass": (
        ("value", "value", "may not be changed in an update."),
        ("preemptionPolicy", "preemptionPolicy", ""),
    ),
    "storage.v1.CSIDriver": (
        ("spec.attachedRequired", "spec.attachRequired", ""),
        ("spec.volumeLifecycleModes", "spec.volumeLifecycleModes", ""),
    ),
    "storage.v1.CSIStorageCapacity": (
        ("nodeTopology", "nodeTopology", ""),
        ("storageClassName", "storageClassName", ""),
    ),
    "storage.v1.StorageClass": (
        ("parameters", "parameters", "updates to parameters are forbidden."),
        ("provisioner", "provisioner", ""),
        ("reclaimPolicy", "reclaimPolicy", ""),
        ("volumeBindingMode", "volumeBindingMode", ""),
    ),
    "storage.v1.VolumeAttachment": (("spec", "spec", ""),),
    "storage.v1.VolumeAttributesClass": (
        ("driverName", "driverName", "updates to driverName are forbidden."),
        ("parameters", "parameters", "updates to parameters are forbidden."),
    ),
    "v1.PersistentVolume": (("volumeMode", "spec.volumeMode", ""),),
}


def fixed_problems(schema: str, new: JsonObject, old: JsonObject) -> list[FieldError]:
    """What of an object was changed although it may not be."""
    errors = []
    for field, place, text in FIXED.get(schema, ()):
        value, before = _at(new, place), _at(old, place)
        if value != before:
            path = path_of(field)
            errors.append(forbidden(path, text) if text else invalid(path, value, IMMUTABLE))
    return errors


def _at(obj: JsonObject, place: str) -> Any:
    inner: Any = obj
    for name in place.split("."):
        inner = inner.get(name) if inner is not None else None
    return inner
