"""Autoscalers: stored as autoscaling/v2; what version 1 has no field for, it shows in annotations."""

from collections.abc import Mapping
from typing import Any

import orjson

from kinepy_server.resources.defaults.compile import filler
from kinepy_server.resources.resource import JsonObject

V1, V2 = "autoscaling/v1", "autoscaling/v2"
_PREFIX = "autoscaling.alpha.kubernetes.io"
METRICS, BEHAVIOR = f"{_PREFIX}/metrics", f"{_PREFIX}/behavior"
CONDITIONS, CURRENT = f"{_PREFIX}/conditions", f"{_PREFIX}/current-metrics"
ANNOTATIONS = (METRICS, BEHAVIOR, CONDITIONS, CURRENT)
_V2 = "autoscaling.v2.HorizontalPodAutoscaler"

_SOURCES = {
    "Object": "object", "Pods": "pods", "Resource": "resource", "ContainerResource": "containerResource",
    "External": "external",
}  # fmt: skip
_TARGET_NAMES = {
    "resource": {"averageUtilization": "targetAverageUtilization", "averageValue": "targetAverageValue"},
    "containerResource": {
        "averageUtilization": "targetAverageUtilization", "averageValue": "targetAverageValue",
    },
    "pods": {"averageValue": "targetAverageValue"},
    "object": {"value": "targetValue", "averageValue": "averageValue"},
    "external": {"value": "targetValue", "averageValue": "targetAverageValue"},
}  # fmt: skip
_CURRENT_NAMES = {
    "resource": {"averageUtilization": "currentAverageUtilization", "averageValue": "currentAverageValue"},
    "containerResource": {
        "averageUtilization": "currentAverageUtilization", "averageValue": "currentAverageValue",
    },
    "pods": {"averageValue": "currentAverageValue"},
    "object": {"value": "currentValue", "averageValue": "averageValue"},
    "external": {"value": "currentValue", "averageValue": "currentAverageValue"},
}  # fmt: skip
_TYPES = {"averageUtilization": "Utilization", "averageValue": "AverageValue", "value": "Value"}


def from_v2(obj: JsonObject) -> JsonObject:
    """An autoscaler as version 1 shows it. `obj` stays as it is, nested values are shared."""
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    annotations = dict(obj["metadata"].get("annotations") or {})
    metrics, current = spec.pop("metrics", None) or [], status.pop("currentMetrics", None) or []
    behavior, conditions = spec.pop("behavior", None), status.pop("conditions", None)
    cpu = next((m for m in metrics if _cpu(m, "target") is not None), None)
    if cpu is not None:
        spec["targetCPUUtilizationPercentage"] = _cpu(cpu, "target")
    measured = next((_cpu(m, "current") for m in current if _cpu(m, "current") is not None), None)
    status = {"currentReplicas": 0, "desiredReplicas": 0, **status}
    if measured is not None:
        status["currentCPUUtilizationPercentage"] = measured
    others = [_flat(metric, "target", _TARGET_NAMES) for metric in metrics if metric is not cpu]
    for name, value in (
        (METRICS, others),
        (BEHAVIOR, behavior),
        (CONDITIONS, conditions),
        (CURRENT, [_flat(metric, "current", _CURRENT_NAMES) for metric in current]),
    ):
        if value:
            annotations[name] = orjson.dumps(value).decode()
    return _with(obj, V1, annotations, spec=spec, status=status)


def to_v2(obj: JsonObject) -> JsonObject:
    """An autoscaler of version 1 as it is stored. `obj` stays as it is, nested values are shared."""
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    annotations = dict(obj["metadata"].get("annotations") or {})
    hidden = {name: _parsed(annotations.pop(name, "")) for name in ANNOTATIONS}
    percent = spec.pop("targetCPUUtilizationPercentage", None)
    metrics = [_nested(metric, "target", _TARGET_NAMES) for metric in hidden[METRICS] or ()]
    if percent is not None:
        target = {"type": "Utilization", "averageUtilization": percent}
        metrics.append({"type": "Resource", "resource": {"name": "cpu", "target": target}})
    if metrics:
        spec["metrics"] = metrics
    if hidden[BEHAVIOR]:
        spec["behavior"] = hidden[BEHAVIOR]
    measured = status.pop("currentCPUUtilizationPercentage", None)
    current = [_nested(metric, "current", _CURRENT_NAMES) for metric in hidden[CURRENT] or ()]
    if measured is not None and not any(_cpu(metric, "current") is not None for metric in current):
        value = {"averageUtilization": measured}
        current.append({"type": "Resource", "resource": {"name": "cpu", "current": value}})
    if not status.get("currentReplicas"):
        status.pop("currentReplicas", None)
    status["currentMetrics"] = current or None
    if hidden[CONDITIONS]:
        status["conditions"] = hidden[CONDITIONS]
    stored = _with(obj, V2, annotations, spec=spec, status=status)
    fill = filler(_V2)
    assert fill is not None
    fill(stored)
    return stored


def _with(obj: JsonObject, version: str, annotations: JsonObject, **parts: JsonObject) -> JsonObject:
    metadata = {name: value for name, value in obj["metadata"].items() if name != "annotations"}
    if annotations:
        metadata["annotations"] = annotations
    return {**obj, "apiVersion": version, "metadata": metadata, **parts}


def _cpu(metric: JsonObject, part: str) -> Any:
    if metric.get("type") != "Resource":
        return None
    source = metric.get("resource") or {}
    return (source.get(part) or {}).get("averageUtilization") if source.get("name") == "cpu" else None


def _parsed(text: str) -> Any:
    try:
        return orjson.loads(text) if text else None
    except orjson.JSONDecodeError:
        return None


def _flat(metric: JsonObject, part: str, names: Mapping[str, Mapping[str, str]]) -> JsonObject:
    """A metric as version 1 writes it: the target's or current values beside the metric's name."""
    kind = metric.get("type", "")
    field = _SOURCES.get(kind, "")
    source = dict(metric.get(field) or {})
    flat: JsonObject = {}
    about, described = source.pop("metric", None), source.pop("describedObject", None)
    values = source.pop(part, None) or {}
    if described is not None:
        flat["target"] = described
    if about:
        flat["metricName"] = about.get("name", "")
        if about.get("selector") is not None:
            flat["metricSelector" if field == "external" else "selector"] = about["selector"]
    flat |= source
    flat |= {new: values[old] for old, new in names.get(field, {}).items() if values.get(old) is not None}
    return {"type": kind, field: flat} if field else {"type": kind}


def _nested(metric: JsonObject, part: str, names: Mapping[str, Mapping[str, str]]) -> JsonObject:
    """The metric that version 1 writes in a flat form."""
    kind = metric.get("type", "")
    field = _SOURCES.get(kind, "")
    flat = dict(metric.get(field) or {})
    source: JsonObject = {}
    values = {old: flat.pop(new) for old, new in names.get(field, {}).items() if new in flat}
    if part == "target":
        values["type"] = next((_TYPES[name] for name in _TYPES if name in values), "")
    if "target" in flat:
        source["describedObject"] = flat.pop("target")
    if "metricName" in flat:
        about = {"name": flat.pop("metricName")}
        chosen = flat.pop("metricSelector", None) or flat.pop("selector", None)
        source["metric"] = about if chosen is None else {**about, "selector": chosen}
    return {"type": kind, field: {**source, **flat, part: values}} if field else {"type": kind}
