"""The cells of nodes, quotas, and what governs the cluster and the API."""

from collections.abc import Sequence
from typing import Any

from kinepy_server.resources.cells.common import NONE, UNKNOWN, UNSET, age, at, condition, count, name, row
from kinepy_server.resources.durations import human_duration
from kinepy_server.resources.resource import JsonObject

ROLE_PREFIX, ROLE_LABEL = "node-role.kubernetes.io/", "kubernetes.io/role"


component = row(name, at("status"), at("message"), at("error"))


def node(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, Status, Roles, Age, Version, Internal-IP, External-IP, OS-Image, Kernel-Version, Container-Runtime."""
    status = obj.get("status") or {}
    info = status.get("nodeInfo") or {}
    kernel = info.get("kernelVersion", "")
    if kernel and info.get("architecture"):
        kernel = f"{kernel} ({info['architecture']})"
    return (
        name(obj, now),
        _node_state(obj, status),
        _roles(obj["metadata"].get("labels") or {}),
        age(obj, now),
        info.get("kubeletVersion", ""),
        _node_address(status, "InternalIP"),
        _node_address(status, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        kernel or UNKNOWN,
        info.get("containerRuntimeVersion") or UNKNOWN,
    )


def _node_state(obj: JsonObject, status: JsonObject) -> str:
    ready = condition(status.get("conditions"), "Ready")
    state = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    return f"{state},SchedulingDisabled" if (obj.get("spec") or {}).get("unschedulable") else state


def _roles(labels: JsonObject) -> str:
    roles = {key.removeprefix(ROLE_PREFIX) for key in labels if key.startswith(ROLE_PREFIX)}
    if labels.get(ROLE_LABEL):
        roles.add(labels[ROLE_LABEL])
    return ",".join(sorted(roles - {""})) or NONE


def _node_address(status: JsonObject, kind: str) -> str:
    found = condition(status.get("addresses"), kind)
    return str(found.get("address", "")) if found else NONE


def quota(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, Request, Limit, Age."""
    status = obj.get("status") or {}
    hard, used = status.get("hard") or {}, status.get("used") or {}
    texts: dict[bool, list[str]] = {True: [], False: []}
    for key in sorted(hard):
        texts[key.startswith("limits.")].append(f"{key}: {used.get(key, '0')}/{hard[key]}")
    return name(obj, now), ", ".join(texts[False]), ", ".join(texts[True]), age(obj, now)


def binding(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, Role, Age, Users, Groups, ServiceAccounts."""
    reference = obj.get("roleRef") or {}
    subjects: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for one in obj.get("subjects") or ():
        kind, text = one.get("kind", ""), one.get("name", "")
        if kind == "ServiceAccount":
            text = f"{one.get('namespace', '')}/{text}"
        subjects.setdefault(kind, []).append(text)
    shown = (", ".join(subjects[kind]) for kind in ("User", "Group", "ServiceAccount"))
    return name(obj, now), f"{reference.get('kind', '')}/{reference.get('name', '')}", age(obj, now), *shown


def signing_request(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, Age, SignerName, Requestor, RequestedDuration, Condition."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    kinds = {one.get("type") for one in status.get("conditions") or ()}
    state = "Denied" if "Denied" in kinds else "Approved" if "Approved" in kinds else "Pending"
    if "Failed" in kinds:
        state = f"{state},Failed"
    if status.get("certificate"):
        state = f"{state},Issued"
    seconds = spec.get("expirationSeconds")
    duration = NONE if seconds is None else human_duration(seconds)
    return (
        name(obj, now),
        age(obj, now),
        spec.get("signerName", ""),
        spec.get("username", ""),
        duration,
        state,
    )


def api_service(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, Service, Available, Age."""
    service = (obj.get("spec") or {}).get("service")
    available = condition((obj.get("status") or {}).get("conditions"), "Available")
    shown = f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local"
    state = "Unknown"
    if available is not None:
        state = available.get("status", "")
        if state != "True":
            state = f"{state} ({available.get('reason', '')})"
    return name(obj, now), shown, state, age(obj, now)


def _parameters_kind(obj: JsonObject, now: float) -> str:
    kind = (obj.get("spec") or {}).get("paramKind")
    return f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else UNSET


def _parameters(obj: JsonObject, now: float) -> str:
    found = (obj.get("spec") or {}).get("paramRef")
    if not found:
        return UNSET
    return f"{found.get('namespace') or '*'}/{found.get('name') or '*'}"


validating_policy = row(name, count("spec.validations"), _parameters_kind, age)
mutating_policy = row(name, count("spec.mutations"), _parameters_kind, age)
policy_binding = row(name, at("spec.policyName"), _parameters, age)


def _dangling(obj: JsonObject, now: float) -> str:
    found = condition((obj.get("status") or {}).get("conditions"), "Dangling")
    return "?" if found is None else str(found.get("status", ""))


flow_schema = row(
    name, at("spec.priorityLevelConfiguration.name"), at("spec.matchingPrecedence", 0),
    at("spec.distinguisherMethod.type", NONE), age, _dangling,
)  # fmt: skip


def priority_level(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, Type, NominalConcurrencyShares, Queues, HandSize, QueueLengthLimit, Age."""
    spec = obj.get("spec") or {}
    limits = spec.get("limited") or spec.get("exempt") or {}
    queuing = (limits.get("limitResponse") or {}).get("queuing") or {}
    queues = (queuing.get(field, NONE) for field in ("queues", "handSize", "queueLengthLimit"))
    shares = limits.get("nominalConcurrencyShares")
    return name(obj, now), spec.get("type", ""), NONE if shares is None else shares, *queues, age(obj, now)
