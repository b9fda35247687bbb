"""Checks of volumes in pods, of persistent volumes, claims and classes."""

from typing import Any

from kinepy_server.resources.checks.amounts import positive_amount
from kinepy_server.resources.checks.causes import Key, Path, forbidden, invalid, required, unsupported
from kinepy_server.resources.checks.entries import (
    DNS_LABEL,
    DNS_SUBDOMAIN,
    QUALIFIED_NAME,
    REQUIRED,
    Table,
    between,
    each,
    one_of,
    unique_values,
)
from kinepy_server.resources.resource import FieldError

MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
FILE_MODE = between(0, 0o777, "must be a number between 0 and 0777 (octal), both inclusive")
HOST_PATH_TYPES = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip
_NOT_SOURCES = frozenset(
    (
        "accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "persistentVolumeReclaimPolicy",
        "storageClassName", "volumeAttributesClassName", "volumeMode",
    )
)  # fmt: skip


def _one_source(value: Any, path: Path, errors: list[FieldError]) -> None:
    found = [name for name, member in value.items() if name != "name" and member is not None]
    if not found:
        errors.append(required(path, "must specify a volume type"))
    errors.extend(forbidden((path, name), "may not specify more than 1 volume type") for name in found[1:])


def _one_volume_source(value: Any, path: Path, errors: list[FieldError]) -> None:
    found = [name for name, member in value.items() if name not in _NOT_SOURCES and member is not None]
    if not found:
        errors.append(required(path, "must specify a volume type"))
    errors.extend(forbidden((path, name), "may not specify more than 1 volume type") for name in found[1:])


def absolute_path(value: Any, path: Path, errors: list[FieldError]) -> None:
    """A path from the root."""
    if not value.startswith("/"):
        errors.append(invalid(path, value, "must be an absolute path"))


def no_back_steps(value: Any, path: Path, errors: list[FieldError]) -> None:
    """A path that never goes up."""
    if ".." in value.split("/"):
        errors.append(invalid(path, value, "must not contain '..'"))


def _claim_storage(value: Any, path: Path, errors: list[FieldError]) -> None:
    storage = ((value.get("resources") or {}).get("requests") or {}).get("storage")
    where = ((path, "resources"), Key("storage"))
    if storage is None:
        errors.append(required(where))
    else:
        positive_amount(storage, where, errors)


def _volume_storage(value: Any, path: Path, errors: list[FieldError]) -> None:
    capacity = value.get("capacity")
    if not capacity:
        errors.append(required((path, "capacity")))
    elif "storage" not in capacity or len(capacity) > 1:
        errors.append(unsupported((path, "capacity"), capacity, ("storage",)))
    else:
        positive_amount(capacity["storage"], ((path, "capacity"), Key("storage")), errors)


TABLE: Table = {
    "v1.Volume": (("name", REQUIRED, DNS_LABEL), ("", _one_source)),
    "v1.HostPathVolumeSource": (("path", REQUIRED, no_back_steps), ("type", one_of(*HOST_PATH_TYPES))),
    "v1.SecretVolumeSource": (("secretName", REQUIRED), ("defaultMode", FILE_MODE)),
    "v1.ConfigMapVolumeSource": (("name", REQUIRED), ("defaultMode", FILE_MODE)),
    "v1.DownwardAPIVolumeSource": (("defaultMode", FILE_MODE),),
    "v1.ProjectedVolumeSource": (("defaultMode", FILE_MODE),),
    "v1.KeyToPath": (("key", REQUIRED), ("path", REQUIRED, no_back_steps), ("mode", FILE_MODE)),
    "v1.PersistentVolumeClaimVolumeSource": (("claimName", REQUIRED),),
    "v1.NFSVolumeSource": (("server", REQUIRED), ("path", REQUIRED, absolute_path)),
    "v1.ISCSIVolumeSource": (("targetPortal", REQUIRED), ("iqn", REQUIRED), ("lun", between(0, 255))),
    "v1.ISCSIPersistentVolumeSource": (("targetPortal", REQUIRED), ("iqn", REQUIRED), ("lun", between(0, 255))),
    "v1.CSIVolumeSource": (("driver", REQUIRED, DNS_SUBDOMAIN),),
    "v1.CSIPersistentVolumeSource": (("driver", REQUIRED, DNS_SUBDOMAIN), ("volumeHandle", REQUIRED)),
    "v1.LocalVolumeSource": (("path", REQUIRED, no_back_steps),),
    "v1.PersistentVolumeSpec": (
        ("accessModes", REQUIRED, each(one_of(*MODES))),
        ("", _volume_storage, _one_volume_source),
        ("persistentVolumeReclaimPolicy", one_of("Delete", "Recycle", "Retain")),
        ("storageClassName", DNS_SUBDOMAIN),
        ("volumeMode", one_of("Block", "Filesystem")),
    ),
    "v1.PersistentVolumeClaimSpec": (
        ("accessModes", REQUIRED, each(one_of(*MODES))),
        ("", _claim_storage),
        ("storageClassName", DNS_SUBDOMAIN),
        ("volumeMode", one_of("Block", "Filesystem")),
    ),
    "storage.v1.StorageClass": (
        ("provisioner", REQUIRED, QUALIFIED_NAME),
        ("reclaimPolicy", one_of("Delete", "Retain")),
        ("volumeBindingMode", REQUIRED, one_of("Immediate", "WaitForFirstConsumer")),
    ),
    "storage.v1.CSIDriverSpec": (
        ("attachRequired", REQUIRED),
        ("podInfoOnMount", REQUIRED),
        ("fsGroupPolicy", one_of("File", "None", "ReadWriteOnceWithFSType")),
        ("volumeLifecycleModes", each(one_of("Ephemeral", "Persistent"))),
    ),
    "storage.v1.CSINodeDriver": (
        ("name", REQUIRED, DNS_SUBDOMAIN), ("nodeID", REQUIRED), ("topologyKeys", unique_values),
    ),
    "storage.v1.CSIStorageCapacity": (("storageClassName", REQUIRED, DNS_SUBDOMAIN),),
    "storage.v1.VolumeAttachmentSpec": (("attacher", REQUIRED, DNS_SUBDOMAIN), ("source",), ("nodeName", REQUIRED)),
    "storage.v1.VolumeAttributesClass": (("driverName", REQUIRED, DNS_SUBDOMAIN), ("parameters", REQUIRED)),
}  # fmt: skip
