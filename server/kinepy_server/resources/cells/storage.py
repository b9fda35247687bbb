"""The cells of volumes, their classes and drivers, and devices."""

from collections.abc import Sequence
from typing import Any

from kinepy_server.resources.cells.common import UNSET, age, at, count, name, row
from kinepy_server.resources.resource import JsonObject

MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
DEFAULT_ANNOTATIONS = (
    "storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class",
)  # fmt: skip


def access_modes(modes: Sequence[str] | None) -> str:
    """Access modes, shortened, in the order that tables show them."""
    return ",".join(short for long, short in MODES.items() if long in (modes or ()))


def _class(obj: JsonObject, spec: JsonObject) -> str:
    annotated = (obj["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION)
    return annotated or spec.get("storageClassName") or ""


def _phase(obj: JsonObject, status: JsonObject) -> str:
    return "Terminating" if obj["metadata"].get("deletionTimestamp") else status.get("phase", "")


def claim(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, Status, Volume, Capacity, Access Modes, StorageClass, VolumeAttributesClass, Age, VolumeMode."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    bound = bool(spec.get("volumeName"))
    return (
        name(obj, now),
        _phase(obj, status),
        spec.get("volumeName", ""),
        (status.get("capacity") or {}).get("storage", "0") if bound else "",
        access_modes(status.get("accessModes")) if bound else "",
        _class(obj, spec),
        spec.get("volumeAttributesClassName") or UNSET,
        age(obj, now),
        spec.get("volumeMode") or UNSET,
    )


def volume(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, Capacity, Access Modes, Reclaim Policy, Status, Claim, StorageClass, VolumeAttributesClass, Reason,
    Age, VolumeMode."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    owner = spec.get("claimRef")
    return (
        name(obj, now),
        (spec.get("capacity") or {}).get("storage", "0"),
        access_modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(obj, status),
        f"{owner.get('namespace', '')}/{owner.get('name', '')}" if owner else "",
        _class(obj, spec),
        spec.get("volumeAttributesClassName") or UNSET,
        status.get("reason", ""),
        age(obj, now),
        spec.get("volumeMode") or UNSET,
    )


def storage_class(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, Provisioner, ReclaimPolicy, VolumeBindingMode, AllowVolumeExpansion, Age."""
    annotations = obj["metadata"].get("annotations") or {}
    is_default = any(annotations.get(key) == "true" for key in DEFAULT_ANNOTATIONS)
    return (
        name(obj, now) + (" (default)" if is_default else ""),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy", "Delete"),
        obj.get("volumeBindingMode", "Immediate"),
        bool(obj.get("allowVolumeExpansion")),
        age(obj, now),
    )


def csi_driver(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, AttachRequired, PodInfoOnMount, StorageCapacity, TokenRequests, RequiresRepublish, Modes, Age."""
    spec = obj.get("spec") or {}
    tokens = spec.get("tokenRequests")
    attach = spec.get("attachRequired")
    return (
        name(obj, now),
        True if attach is None else attach,
        bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")),
        ",".join(one.get("audience", "") for one in tokens) if tokens else UNSET,
        bool(spec.get("requiresRepublish")),
        ",".join(spec.get("volumeLifecycleModes") or ()) or "<none>",
        age(obj, now),
    )


csi_node = row(name, count("spec.drivers"), age)
attachment = row(
    name, at("spec.attacher"), at("spec.source.persistentVolumeName"), at("spec.nodeName"),
    at("status.attached", False), age,
)  # fmt: skip
attributes_class = row(name, at("driverName"), age)
resource_slice = row(name, at("spec.nodeName"), at("spec.driver"), at("spec.pool.name"), age)


def resource_claim(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, State, Age."""
    status = obj.get("status") or {}
    states = ["deleted"] if obj["metadata"].get("deletionTimestamp") else []
    if status.get("allocation") is None:
        states += [] if states else ["pending"]
    else:
        states.append("allocated")
        if status.get("reservedFor"):
            states.append("reserved")
    return name(obj, now), ",".join(states), age(obj, now)
