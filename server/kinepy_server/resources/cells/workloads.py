"""The cells of what makes pods, and of what scales and protects them."""

from collections.abc import Sequence
from typing import Any

from kinepy_server.resources.autoscaling import to_v2
from kinepy_server.resources.cells.common import (
    NONE,
    UNKNOWN,
    age,
    at,
    condition,
    containers,
    count,
    images,
    labels,
    name,
    row,
    selector,
    selector_text,
)
from kinepy_server.resources.cells.pods import seconds_between
from kinepy_server.resources.durations import human_duration, since
from kinepy_server.resources.resource import JsonObject

TEMPLATE = "spec.template.spec"
METRICS_SHOWN = 2


def _of(ready: str, wanted: str, *, absent: int = 0) -> Any:
    have, want = at(ready, 0), at(wanted, absent)
    return lambda obj, now: f"{have(obj, now)}/{want(obj, now)}"


_pods = (containers(TEMPLATE), images(TEMPLATE))

deployment = row(
    name, _of("status.readyReplicas", "spec.replicas"), at("status.updatedReplicas", 0),
    at("status.availableReplicas", 0), age, *_pods, selector("spec.selector"),
)  # fmt: skip
replica_set = row(
    name, at("spec.replicas", 0), at("status.replicas", 0), at("status.readyReplicas", 0), age, *_pods,
    selector("spec.selector"),
)  # fmt: skip
replication_controller = row(
    name, at("spec.replicas", 0), at("status.replicas", 0), at("status.readyReplicas", 0), age, *_pods,
    labels("spec.selector"),
)  # fmt: skip
stateful_set = row(name, _of("status.readyReplicas", "spec.replicas"), age, *_pods)
daemon_set = row(
    name, at("status.desiredNumberScheduled", 0), at("status.currentNumberScheduled", 0),
    at("status.numberReady", 0), at("status.updatedNumberScheduled", 0), at("status.numberAvailable", 0),
    labels(f"{TEMPLATE}.nodeSelector"), age, *_pods, selector("spec.selector"),
)  # fmt: skip
pod_template = row(
    name, containers("template.spec"), images("template.spec"), labels("template.metadata.labels")
)


def controller_revision(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, Controller, Revision, Age."""
    owners = [one for one in obj["metadata"].get("ownerReferences") or () if one.get("controller")]
    shown = NONE
    if owners:
        group = owners[0].get("apiVersion", "").rpartition("/")[0]
        kind = owners[0].get("kind", "").lower()
        shown = (
            f"{kind}.{group}/{owners[0].get('name', '')}" if group else f"{kind}/{owners[0].get('name', '')}"
        )
    return name(obj, now), shown, obj.get("revision", 0), age(obj, now)


def cron_job(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, Schedule, Timezone, Suspend, Active, Last Schedule, Age, Containers, Images, Selector."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    job = (spec.get("jobTemplate") or {}).get("spec") or {}
    pods = {"spec": job}
    last = status.get("lastScheduleTime")
    return (
        name(obj, now),
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        "True" if spec.get("suspend") else "False",
        len(status.get("active") or ()),
        since(last, now) if last else NONE,
        age(obj, now),
        *(cell(pods, now) for cell in _pods),
        selector_text(job.get("selector")),
    )


def job(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, Status, Completions, Duration, Age, Containers, Images, Selector."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return (
        name(obj, now),
        _job_state(obj, status),
        _completions(spec, status),
        _duration(status, now),
        age(obj, now),
        *(cell(obj, now) for cell in _pods),
        selector_text(spec.get("selector")),
    )


_JOB_STATES = (
    ("Complete", "Complete"), ("Failed", "Failed"), ("", "Terminating"), ("Suspended", "Suspended"),
    ("FailureTarget", "FailureTarget"), ("SuccessCriteriaMet", "SuccessCriteriaMet"),
)  # fmt: skip


def _job_state(obj: JsonObject, status: JsonObject) -> str:
    for kind, shown in _JOB_STATES:
        if not kind:
            if obj["metadata"].get("deletionTimestamp"):
                return shown
            continue
        found = condition(status.get("conditions"), kind)
        if found is not None and found.get("status") == "True":
            return shown
    return "Running"


def _completions(spec: JsonObject, status: JsonObject) -> str:
    done = status.get("succeeded", 0)
    if spec.get("completions") is not None:
        return f"{done}/{spec['completions']}"
    parallel = spec.get("parallelism") or 0
    return f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"


def _duration(status: JsonObject, now: float) -> str:
    start, end = status.get("startTime"), status.get("completionTime")
    if not start:
        return ""
    return human_duration(seconds_between(start, end)) if end else since(start, now)


def autoscaler(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, Reference, Targets, MinPods, MaxPods, Replicas, Age, of an autoscaling/v2 object."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    target = spec.get("scaleTargetRef") or {}
    minimum = spec.get("minReplicas")
    return (
        name(obj, now),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _targets(spec.get("metrics") or (), status.get("currentMetrics") or ()),
        UNSET_REPLICAS if minimum is None else str(minimum),
        spec.get("maxReplicas", 0),
        status.get("currentReplicas", 0),
        age(obj, now),
    )


def autoscaler_v1(obj: JsonObject, now: float) -> Sequence[Any]:
    """The same columns for an autoscaling/v1 object."""
    return autoscaler(to_v2(obj), now)


UNSET_REPLICAS = "<unset>"
_SOURCES = {
    "External": "external", "Pods": "pods", "Object": "object", "Resource": "resource",
    "ContainerResource": "containerResource",
}  # fmt: skip


def _targets(metrics: Sequence[JsonObject], current: Sequence[JsonObject]) -> str:
    if not metrics:
        return NONE
    texts = [
        _target(metric, current[index] if index < len(current) else {})
        for index, metric in enumerate(metrics)
    ]
    shown = ", ".join(texts[:METRICS_SHOWN])
    more = len(texts) - METRICS_SHOWN
    return f"{shown} + {more} more..." if more > 0 else shown


def _target(metric: JsonObject, current: JsonObject) -> str:
    kind = metric.get("type", "")
    field = _SOURCES.get(kind)
    if field is None:
        return "<unknown type>"
    source = metric.get(field) or {}
    target = source.get("target") or {}
    now_value = (current.get(field) or {}).get("current") or {}
    prefix = f"{source.get('name', '')}: " if "esource" in field else ""
    if target.get("averageUtilization") is not None:
        have = now_value.get("averageUtilization")
        return f"{prefix}{UNKNOWN if have is None else f'{have}%'}/{target['averageUtilization']}%"
    if target.get("averageValue") is not None:
        suffix = " (avg)" if kind in ("External", "Object") else ""
        return f"{prefix}{now_value.get('averageValue') or UNKNOWN}/{target['averageValue']}{suffix}"
    return f"{prefix}{now_value.get('value') or UNKNOWN}/{target.get('value') or '<auto>'}"


def disruption_budget(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, Min Available, Max Unavailable, Allowed Disruptions, Age."""
    spec = obj.get("spec") or {}
    least, most = (spec.get(field) for field in ("minAvailable", "maxUnavailable"))
    return (
        name(obj, now),
        "N/A" if least is None else str(least),
        "N/A" if most is None else str(most),
        (obj.get("status") or {}).get("disruptionsAllowed", 0),
        age(obj, now),
    )


priority_class = row(name, at("value", 0), at("globalDefault", False), age, at("preemptionPolicy"))
webhooks = row(name, count("webhooks"), age)
