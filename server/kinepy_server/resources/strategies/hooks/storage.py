"""Volumes and claims: a new one is pending."""

from collections.abc import Mapping, Sequence

from kinepy_server.resources.checks.causes import forbidden, path_of
from kinepy_server.resources.resource import FieldError, JsonObject
from kinepy_server.resources.strategies.typed import Hooks

CLAIM_FIXED = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName"
    " for bound claims"
)
VOLUME_FIXED = "spec.persistentvolumesource is immutable after creation"
_VOLUME_CHANGES = frozenset(
    (
        "accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "persistentVolumeReclaimPolicy",
        "storageClassName", "volumeAttributesClassName", "volumeMode",
    )
)  # fmt: skip


def _volume(volume: JsonObject) -> None:
    volume["status"].update(phase="Pending", lastPhaseTransitionTime=volume["metadata"]["creationTimestamp"])


def _claim(claim: JsonObject) -> None:
    claim["status"]["phase"] = "Pending"
    _same_source(claim["spec"])


def _same_source(spec: JsonObject) -> None:
    """The two ways to name what a claim is filled from show the same."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source and not reference:
        spec["dataSourceRef"] = dict(source)
    elif reference and not source and not reference.get("namespace"):
        spec["dataSource"] = dict(reference)


def _claim_update(new: JsonObject, old: JsonObject) -> None:
    _same_source(new["spec"])


def _claim_fixed(new: JsonObject, old: JsonObject) -> Sequence[FieldError]:
    bound = (old.get("status") or {}).get("phase") == "Bound"
    free = {"volumeName"} if not old["spec"].get("volumeName") else set()
    if bound:
        free |= {"resources", "volumeAttributesClassName"}
    return _forbidden(new, old, free, path="spec", text=CLAIM_FIXED)


def _volume_fixed(new: JsonObject, old: JsonObject) -> Sequence[FieldError]:
    return _forbidden(new, old, _VOLUME_CHANGES, path="spec.persistentvolumesource", text=VOLUME_FIXED)


def _forbidden(
    new: JsonObject, old: JsonObject, free: set[str] | frozenset[str], *, path: str, text: str
) -> Sequence[FieldError]:
    names = (new["spec"].keys() | old["spec"].keys()) - free
    if all(new["spec"].get(name) == old["spec"].get(name) for name in names):
        return ()
    return [forbidden(path_of(path), text)]


HOOKS: Mapping[str, Hooks] = {
    "v1.PersistentVolume": Hooks(create=_volume, check_update=_volume_fixed),
    "v1.PersistentVolumeClaim": Hooks(create=_claim, update=_claim_update, check_update=_claim_fixed),
}
