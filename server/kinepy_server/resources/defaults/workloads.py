"""Defaults of what makes pods."""

from collections.abc import Callable, Mapping

from kinepy_server.resources.resource import JsonObject

MANY = 2**31 - 1


def _rolling(strategy: JsonObject) -> None:
    if strategy.get("type") == "RollingUpdate" and strategy.get("rollingUpdate") is None:
        strategy["rollingUpdate"] = {}


def _stateful_set(spec: JsonObject) -> None:
    for claim in spec.get("volumeClaimTemplates") or ():
        claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"
        claim.setdefault("status", {}).setdefault("phase", "Pending")


def _job(spec: JsonObject) -> None:
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = spec["parallelism"] = 1
    if spec.get("parallelism") is None:
        spec["parallelism"] = 1
    if spec.get("backoffLimit") is None:
        spec["backoffLimit"] = 6 if spec.get("backoffLimitPerIndex") is None else MANY
    if spec.get("podReplacementPolicy") is None:
        spec["podReplacementPolicy"] = "Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed"


def _labels_from_template(obj: JsonObject) -> None:
    labels = ((obj["spec"].get("template") or {}).get("metadata") or {}).get("labels")
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)


def _replication_controller(controller: JsonObject) -> None:
    spec = controller["spec"]
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels and not spec.get("selector"):
        spec["selector"] = dict(labels)
    _labels_from_template(controller)


def _job_object(job: JsonObject) -> None:
    _labels_from_template(job)
    _job(job["spec"])
    for name, value in (("completionMode", "NonIndexed"), ("suspend", False), ("manualSelector", False)):
        if job["spec"].get(name) is None:
            job["spec"][name] = value


COMPUTED: Mapping[str, Callable[[JsonObject], None]] = {
    "apps.v1.DaemonSetUpdateStrategy": _rolling,
    "apps.v1.DeploymentStrategy": _rolling,
    "apps.v1.StatefulSetSpec": _stateful_set,
    "apps.v1.StatefulSetUpdateStrategy": _rolling,
    "batch.v1.Job": _job_object,
    "v1.ReplicationController": _replication_controller,
}
