"""Pods: what the server decides of a new one, and what its subresources change."""

from collections.abc import Mapping, Sequence

from kinepy_server.resources.checks.causes import forbidden, path_of
from kinepy_server.resources.resource import FieldError, JsonObject
from kinepy_server.resources.strategies.hooks.quality import quality_class
from kinepy_server.resources.strategies.typed import Hooks

EVICTED_AFTER_S = 300
TROUBLES = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def _create(pod: JsonObject) -> None:
    _admit(pod["spec"])
    pod["status"] = {"phase": "Pending", "qosClass": quality_class(pod["spec"])}
    if pod["spec"].get("schedulingGates"):
        pod["status"]["conditions"] = [_gated()]


def _gated() -> JsonObject:
    return {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": None,
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }


def _admit(spec: JsonObject) -> None:
    """A priority, if admission gave none, and how long a pod stays on a node in trouble."""
    if spec.get("priority") is None:
        spec["priority"] = 0
    if spec.get("preemptionPolicy") is None:
        spec["preemptionPolicy"] = "PreemptLowerPriority"
    tolerations = spec.setdefault("tolerations", [])
    for trouble in TROUBLES:
        if not any(_tolerates(one, trouble) for one in tolerations):
            tolerations.append(
                {
                    "key": trouble,
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": EVICTED_AFTER_S,
                }
            )


def _tolerates(toleration: JsonObject, key: str) -> bool:
    return bool(toleration.get("key", key) == key and toleration.get("effect", "NoExecute") == "NoExecute")


def _update(new: JsonObject, old: JsonObject) -> None:
    """What admission filled in stays when a client leaves it out."""
    for name in ("priority", "preemptionPolicy"):
        if new["spec"].get(name) is None and old["spec"].get(name) is not None:
            new["spec"][name] = old["spec"][name]


def _ephemeral(new: JsonObject, old: JsonObject) -> None:
    containers = new["spec"].get("ephemeralContainers")
    _restore(new, old)
    new["spec"] = dict(new["spec"])
    if containers:
        new["spec"]["ephemeralContainers"] = containers
    else:
        new["spec"].pop("ephemeralContainers", None)


def _resize(new: JsonObject, old: JsonObject) -> None:
    wanted = {
        field: {c.get("name"): c for c in new["spec"].get(field) or ()}
        for field in ("containers", "initContainers")
    }
    _restore(new, old)
    spec = new["spec"] = dict(new["spec"])
    for field, by_name in wanted.items():
        if spec.get(field):
            spec[field] = [_resized(one, by_name.get(one.get("name"))) for one in spec[field]]


def _resized(container: JsonObject, wanted: JsonObject | None) -> JsonObject:
    if wanted is None:
        return container
    kept = {name: value for name, value in container.items() if name not in ("resources", "resizePolicy")}
    return kept | {name: wanted[name] for name in ("resources", "resizePolicy") if name in wanted}


def _restore(new: JsonObject, old: JsonObject) -> None:
    """Take everything but the metadata's bookkeeping from the stored object."""
    new["spec"] = old["spec"]
    fields = new["metadata"].get("managedFields")
    new["metadata"] = {**old["metadata"], "resourceVersion": new["metadata"].get("resourceVersion", "")}
    if fields is not None:
        new["metadata"]["managedFields"] = fields


POD_FIXED = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def _fixed(new: JsonObject, old: JsonObject) -> Sequence[FieldError]:
    """A pod's spec is fixed but for images, deadlines and further tolerations; gates only open."""
    spec, stored = new["spec"], old["spec"]
    errors = []
    added = spec.get("tolerations") or []
    if any(not _still_tolerated(one, added) for one in stored.get("tolerations") or ()):
        text = "existing toleration can not be modified except its tolerationSeconds"
        errors.append(forbidden(path_of("spec.tolerations"), text))
    if _frozen(spec, gated=bool(stored.get("schedulingGates"))) != _frozen(
        stored, gated=bool(stored.get("schedulingGates"))
    ):
        errors.append(forbidden(path_of("spec"), POD_FIXED))
    return errors


def _still_tolerated(toleration: JsonObject, found: Sequence[JsonObject]) -> bool:
    kept = {name: value for name, value in toleration.items() if name != "tolerationSeconds"}
    return any({n: v for n, v in one.items() if n != "tolerationSeconds"} == kept for one in found)


def _frozen(spec: JsonObject, *, gated: bool) -> JsonObject:
    free = _GATED_FREE if gated else _FREE
    frozen = {name: value for name, value in spec.items() if name not in free}
    for field in ("containers", "initContainers"):
        frozen[field] = [
            {name: value for name, value in container.items() if name != "image"}
            for container in spec.get(field) or ()
        ]
    return frozen


_FREE = frozenset(
    (
        "activeDeadlineSeconds",
        "tolerations",
        "schedulingGates",
        "serviceAccount",
        "terminationGracePeriodSeconds",
    )
)
_GATED_FREE = _FREE | {"affinity", "nodeSelector"}


def _status(new: JsonObject, old: JsonObject) -> None:
    """One address is the first of all; the class stays."""
    status, stored = new.setdefault("status", {}), old.get("status") or {}
    addresses = status.get("podIPs")
    if status.get("podIP") and (not addresses or addresses[0].get("ip") != status["podIP"]):
        status["podIPs"] = [{"ip": status["podIP"]}]
    elif addresses and not status.get("podIP"):
        status["podIP"] = addresses[0].get("ip", "")
    if not status.get("qosClass") and stored.get("qosClass"):
        status["qosClass"] = stored["qosClass"]


HOOKS: Mapping[str, Hooks] = {
    "v1.Pod": Hooks(
        create=_create,
        update=_update,
        status=_status,
        check_update=_fixed,
        subresources={"ephemeralcontainers": _ephemeral, "resize": _resize},
    ),
}
