"""Checks of what makes pods, and of what scales and protects them."""

import re
from typing import Any

from kinepy_server.resources.checks.causes import Path, forbidden, invalid, required, unsupported
from kinepy_server.resources.checks.cron import cron_problem, zone_problem
from kinepy_server.resources.checks.entries import (
    NON_NEGATIVE,
    POSITIVE,
    REQUIRED,
    Table,
    at_most,
    one_of,
)
from kinepy_server.resources.checks.selectors import template_matches
from kinepy_server.resources.resource import FieldError, JsonObject
from kinepy_server.schema.go_numbers import whole_number

PERCENT_FORM = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"  # noqa: E501
_PERCENTAGE = re.compile(r"[0-9]+%")


def share(value: Any, path: Path, errors: list[FieldError]) -> None:
    """A number, not negative, or a percentage."""
    if type(value) is int:
        NON_NEGATIVE(value, path, errors)
    elif not _PERCENTAGE.fullmatch(value):
        errors.append(invalid(path, value, PERCENT_FORM))


def share_to_100(value: Any, path: Path, errors: list[FieldError]) -> None:
    """The same, a percentage of at most 100."""
    share(value, path, errors)
    if type(value) is str and _PERCENTAGE.fullmatch(value):
        number = whole_number(value[:-1])
        if number is None or number > 100:
            errors.append(invalid(path, value, "must not be greater than 100%"))


def _is_zero(value: Any) -> bool:
    return value in (0, "0%")


def _rolling(value: Any, path: Path, errors: list[FieldError]) -> None:
    if _is_zero(value.get("maxUnavailable")) and _is_zero(value.get("maxSurge")):
        text = "may not be 0 when `maxSurge` is 0"
        errors.append(invalid((path, "maxUnavailable"), value["maxUnavailable"], text))


def _daemon_rolling(value: Any, path: Path, errors: list[FieldError]) -> None:
    unavailable, surge = _is_zero(value.get("maxUnavailable")), _is_zero(value.get("maxSurge"))
    if not unavailable and not surge:
        text = "may not be set when maxUnavailable is non-zero"
        errors.append(invalid((path, "maxSurge"), value["maxSurge"], text))
    elif unavailable and surge:
        errors.append(required((path, "maxUnavailable"), "cannot be 0 when maxSurge is 0"))


def _recreate(value: Any, path: Path, errors: list[FieldError]) -> None:
    if value.get("type") == "Recreate" and value.get("rollingUpdate") is not None:
        text = "may not be specified when strategy `type` is 'Recreate'"
        errors.append(forbidden((path, "rollingUpdate"), text))


def _always_restarted(spec: Any, path: Path, errors: list[FieldError]) -> None:
    pod = (spec.get("template") or {}).get("spec") or {}
    where = ((path, "template"), "spec")
    if pod.get("restartPolicy") in ("OnFailure", "Never"):
        errors.append(unsupported((where, "restartPolicy"), pod["restartPolicy"], ("Always",)))
    if pod.get("activeDeadlineSeconds") is not None:
        kind = "ReplicaSet"
        text = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(forbidden((where, "activeDeadlineSeconds"), text))


def _deadline(spec: Any, path: Path, errors: list[FieldError]) -> None:
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= (spec.get("minReadySeconds") or 0):
        text = "must be greater than minReadySeconds"
        errors.append(invalid((path, "progressDeadlineSeconds"), deadline, text))


def _controller_selector(spec: Any, path: Path, errors: list[FieldError]) -> None:
    selector = spec.get("selector") or {}
    if not selector:
        errors.append(required((path, "selector")))
    if spec.get("template") is None:
        errors.append(required((path, "template")))
        return
    found = (spec["template"].get("metadata") or {}).get("labels")
    if any((found or {}).get(key) != value for key, value in selector.items()):
        where = (((path, "template"), "metadata"), "labels")
        errors.append(invalid(where, found, "`selector` does not match template `labels`"))


def _job_template(spec: Any, path: Path, errors: list[FieldError]) -> None:
    pod = (spec.get("template") or {}).get("spec") or {}
    where = (((path, "template"), "spec"), "restartPolicy")
    if pod.get("restartPolicy") in ("", "Always", None):
        errors.append(required(where, 'valid values: "OnFailure", "Never"'))
    elif pod["restartPolicy"] not in ("OnFailure", "Never"):
        errors.append(unsupported(where, pod["restartPolicy"], ("OnFailure", "Never")))


def _indexed(spec: Any, path: Path, errors: list[FieldError]) -> None:
    if spec.get("completionMode") == "Indexed" and spec.get("completions") is None:
        errors.append(required((path, "completions"), "when completion mode is Indexed"))


def _schedule(value: Any, path: Path, errors: list[FieldError]) -> None:
    problem = cron_problem(value)
    if problem:
        errors.append(invalid(path, value, problem))


def _zone(value: Any, path: Path, errors: list[FieldError]) -> None:
    problem = zone_problem(value)
    if problem:
        errors.append(invalid(path, value, problem))


def _bounds(spec: Any, path: Path, errors: list[FieldError]) -> None:
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    if least is not None and least < 1:
        errors.append(invalid((path, "minReplicas"), least, "must be greater than or equal to 1"))
    if most < 1:
        errors.append(invalid((path, "maxReplicas"), most, "must be greater than 0"))
    if least is not None and most < least:
        errors.append(invalid((path, "maxReplicas"), most, "must be greater than or equal to `minReplicas`"))


def _one_budget(spec: Any, path: Path, errors: list[FieldError]) -> None:
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        text = "minAvailable and maxUnavailable cannot be both set"
        errors.append(invalid(path, _go_spec(spec), text))


def _go_spec(spec: JsonObject) -> JsonObject:
    return {name: value for name, value in spec.items() if value is not None}


_COUNTS = (("replicas", NON_NEGATIVE), ("minReadySeconds", NON_NEGATIVE))
_HISTORY = ("revisionHistoryLimit", NON_NEGATIVE)
_TEMPLATE = (("template",), ("", _always_restarted))

TABLE: Table = {
    "apps.v1.ControllerRevision": (("revision", NON_NEGATIVE),),
    "apps.v1.DaemonSetSpec": (
        ("selector", REQUIRED), ("", template_matches("daemonset")), *_TEMPLATE,
        ("minReadySeconds", NON_NEGATIVE), ("updateStrategy",), _HISTORY,
    ),
    "apps.v1.DaemonSetUpdateStrategy": (("type", one_of("OnDelete", "RollingUpdate")),),
    "apps.v1.DeploymentSpec": (
        ("replicas", NON_NEGATIVE), ("selector", REQUIRED), ("", template_matches("deployment")), *_TEMPLATE,
        ("strategy",), ("minReadySeconds", NON_NEGATIVE), _HISTORY,
        ("progressDeadlineSeconds", NON_NEGATIVE), ("", _deadline),
    ),
    "apps.v1.DeploymentStrategy": (("", _recreate), ("type", one_of("Recreate", "RollingUpdate"))),
    "apps.v1.ReplicaSetSpec": (
        *_COUNTS, ("selector", REQUIRED), ("", template_matches("replicaset")), *_TEMPLATE,
    ),
    "apps.v1.RollingUpdateDaemonSet": (
        ("maxUnavailable", share_to_100), ("maxSurge", share_to_100), ("", _daemon_rolling),
    ),
    "apps.v1.RollingUpdateDeployment": (
        ("maxUnavailable", share_to_100), ("maxSurge", share), ("", _rolling),
    ),
    "apps.v1.RollingUpdateStatefulSetStrategy": (("partition", NON_NEGATIVE),),
    "apps.v1.StatefulSetSpec": (
        ("podManagementPolicy", REQUIRED, one_of("OrderedReady", "Parallel")),
        ("updateStrategy",), ("replicas", NON_NEGATIVE), ("minReadySeconds", NON_NEGATIVE),
        ("selector", REQUIRED), ("", template_matches("statefulset")), *_TEMPLATE, _HISTORY,
        ("volumeClaimTemplates",),
    ),
    "apps.v1.StatefulSetUpdateStrategy": (("type", one_of("OnDelete", "RollingUpdate")),),
    "autoscaling.v1.CrossVersionObjectReference": (("kind", REQUIRED), ("name", REQUIRED)),
    "autoscaling.v1.HorizontalPodAutoscalerSpec": (("", _bounds), ("scaleTargetRef",)),
    "autoscaling.v2.CrossVersionObjectReference": (("kind", REQUIRED), ("name", REQUIRED)),
    "autoscaling.v2.HPAScalingPolicy": (
        ("type", one_of("Percent", "Pods")), ("value", POSITIVE), ("periodSeconds", POSITIVE, at_most(1800)),
    ),
    "autoscaling.v2.HPAScalingRules": (
        ("stabilizationWindowSeconds", NON_NEGATIVE, at_most(3600)),
        ("selectPolicy", one_of("Disabled", "Max", "Min")), ("policies", REQUIRED),
    ),
    "autoscaling.v2.HorizontalPodAutoscalerSpec": (("", _bounds), ("scaleTargetRef",)),
    "autoscaling.v2.MetricIdentifier": (("name", REQUIRED),),
    "autoscaling.v2.MetricSpec": (
        ("type", REQUIRED, one_of("ContainerResource", "External", "Object", "Pods", "Resource")),
    ),
    "autoscaling.v2.MetricTarget": (
        ("type", REQUIRED, one_of("AverageValue", "Utilization", "Value")), ("averageUtilization", POSITIVE),
    ),
    "autoscaling.v1.ScaleSpec": (("replicas", NON_NEGATIVE),),
    "batch.v1.CronJobSpec": (
        ("schedule", REQUIRED, _schedule), ("startingDeadlineSeconds", NON_NEGATIVE), ("timeZone", _zone),
        ("concurrencyPolicy", REQUIRED, one_of("Allow", "Forbid", "Replace")), ("jobTemplate",),
        ("successfulJobsHistoryLimit", NON_NEGATIVE), ("failedJobsHistoryLimit", NON_NEGATIVE),
    ),
    "batch.v1.JobSpec": (
        ("parallelism", NON_NEGATIVE), ("completions", NON_NEGATIVE), ("activeDeadlineSeconds", NON_NEGATIVE),
        ("backoffLimit", NON_NEGATIVE), ("ttlSecondsAfterFinished", NON_NEGATIVE),
        ("completionMode", one_of("Indexed", "NonIndexed")), ("", _indexed), ("template",), ("", _job_template),
    ),
    "policy.v1.PodDisruptionBudgetSpec": (
        ("", _one_budget), ("minAvailable", share_to_100), ("maxUnavailable", share_to_100),
        ("unhealthyPodEvictionPolicy", one_of("AlwaysAllow", "IfHealthyBudget")),
    ),
    "v1.ReplicationControllerSpec": (*_COUNTS, ("", _controller_selector), *_TEMPLATE),
}  # fmt: skip
