"""Checks of pods, their containers and what these are made of."""

from typing import Any

from kinepy_server.resources.checks.amounts import resource_list, within_limits
from kinepy_server.resources.checks.causes import Path, duplicate, forbidden, invalid, not_found, required
from kinepy_server.resources.checks.entries import (
    DNS_LABEL,
    DNS_SUBDOMAIN,
    NON_NEGATIVE,
    PORT,
    QUALIFIED_NAME,
    REQUIRED,
    Table,
    at_least,
    between,
    labels,
    matching,
    named,
    one_of,
    unique,
)
from kinepy_server.resources.resource import FieldError, JsonObject

PROTOCOLS = ("SCTP", "TCP", "UDP")
HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
ENV_NAME = matching(
    r"[ -<>-~]+",
    "a valid environment variable name must consist only of printable ASCII characters other than '='",
)
MAX_INT32 = 2**31 - 1


def port_name_problems(name: str) -> list[str]:
    """What is wrong with the name of a port."""
    problems = [] if len(name) <= 15 else ["must be no more than 15 characters"]
    if not all(c.isascii() and (c.isdigit() or c.islower() or c == "-") for c in name):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any(c.isascii() and c.islower() for c in name):
        problems.append("must contain at least one letter (a-z)")
    if "--" in name:
        problems.append("must not contain consecutive hyphens")
    if name and (name[0] == "-" or name[-1] == "-"):
        problems.append("must not begin or end with a hyphen")
    return problems


PORT_NAME = named(port_name_problems)


def port_or_name(value: Any, path: Path, errors: list[FieldError]) -> None:
    """A number or name of a port."""
    (PORT if type(value) is int else PORT_NAME)(value, path, errors)


def _container_port(value: Any, path: Path, errors: list[FieldError]) -> None:
    port = value.get("containerPort", 0)
    if port == 0:
        errors.append(required((path, "containerPort")))
    else:
        PORT(port, (path, "containerPort"), errors)
    host = value.get("hostPort", 0)
    if host:
        PORT(host, (path, "hostPort"), errors)


def _one_handler(value: Any, path: Path, errors: list[FieldError]) -> None:
    found = [name for name in HANDLERS if value.get(name) is not None]
    if not found:
        errors.append(required(path, "must specify a handler type"))
    errors.extend(forbidden((path, name), "may not specify more than 1 handler type") for name in found[1:])


def _success_once(value: Any, path: Path, errors: list[FieldError]) -> None:
    if value.get("successThreshold", 1) != 1:
        errors.append(invalid((path, "successThreshold"), value["successThreshold"], "must be 1"))


def _image(value: Any, path: Path, errors: list[FieldError]) -> None:
    if value != value.strip():
        errors.append(invalid(path, value, "must not have leading or trailing whitespace"))


def _env_source(value: Any, path: Path, errors: list[FieldError]) -> None:
    source = value.get("valueFrom")
    if source is None:
        return
    found = [name for name, member in source.items() if member is not None]
    where = (path, "valueFrom")
    if not found:
        text = "must specify one of: `configMapKeyRef`, `fieldRef`, `fileKeyRef`, `resourceFieldRef` or `secretKeyRef`"
        errors.append(invalid(where, "", text))
    elif value.get("value"):
        errors.append(invalid(where, "", "may not be specified when `value` is not empty"))
    elif len(found) > 1:
        errors.append(invalid(where, "", "may not have more than one field specified at a time"))


def _container_names(spec: Any, path: Path, errors: list[FieldError]) -> None:
    """No two containers of a pod have the same name, whatever their sort; mounts are of the pod's volumes."""
    volumes = {volume.get("name") for volume in spec.get("volumes") or ()}
    seen: set[str] = set()
    for field in ("containers", "initContainers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            where: Path = ((path, field), index)
            name = container.get("name")
            if name and name in seen:
                errors.append(duplicate((where, "name"), name))
            seen.add(name)
            _mounts(container, where, errors, volumes=volumes)


def _mounts(container: JsonObject, path: Path, errors: list[FieldError], *, volumes: set[str | None]) -> None:
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        if mount.get("name") and mount["name"] not in volumes:
            errors.append(not_found((((path, "volumeMounts"), index), "name"), mount["name"]))


def _toleration(value: Any, path: Path, errors: list[FieldError]) -> None:
    operator = value.get("operator") or "Equal"
    if not value.get("key") and operator != "Exists":
        text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        errors.append(invalid((path, "operator"), value.get("operator", ""), text))
    if value.get("tolerationSeconds") is not None and value.get("effect") != "NoExecute":
        text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        errors.append(invalid((path, "effect"), value.get("effect", ""), text))
    if operator == "Exists" and value.get("value"):
        text = "value must be empty when `operator` is 'Exists'"
        errors.append(invalid((path, "operator"), value["value"], text))


_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_CONTAINER = (
    ("name", REQUIRED, DNS_LABEL),
    ("image", REQUIRED, _image),
    ("terminationMessagePolicy", one_of("FallbackToLogsOnError", "File")),
    ("ports", unique("containerPort", "protocol", "hostIP", "name")),
    ("imagePullPolicy", REQUIRED, one_of("Always", "IfNotPresent", "Never")),
    ("volumeMounts", unique("mountPath", at="mountPath")),
    ("resources",),
    ("livenessProbe", _success_once),
    ("startupProbe", _success_once),
)

TABLE: Table = {
    "v1.Container": _CONTAINER,
    "v1.EphemeralContainer": _CONTAINER,
    "v1.ContainerPort": (
        ("name", PORT_NAME),
        ("", _container_port),
        ("protocol", REQUIRED, one_of(*PROTOCOLS)),
    ),
    "v1.EnvVar": (("name", REQUIRED, ENV_NAME), ("", _env_source)),
    "v1.ConfigMapKeySelector": (("key", REQUIRED),),
    "v1.SecretKeySelector": (("key", REQUIRED),),
    "v1.ResourceRequirements": (
        ("limits", resource_list), ("requests", resource_list), ("", within_limits),
    ),
    "v1.VolumeMount": (("name", REQUIRED), ("mountPath", REQUIRED)),
    "v1.Probe": (
        ("", _one_handler),
        ("initialDelaySeconds", NON_NEGATIVE),
        ("timeoutSeconds", NON_NEGATIVE),
        ("periodSeconds", NON_NEGATIVE),
        ("successThreshold", NON_NEGATIVE),
        ("failureThreshold", NON_NEGATIVE),
    ),
    "v1.LifecycleHandler": (("", _one_handler),),
    "v1.ExecAction": (("command", REQUIRED),),
    "v1.HTTPGetAction": (
        ("path", REQUIRED), ("port", port_or_name), ("scheme", one_of("HTTP", "HTTPS")),
    ),
    "v1.TCPSocketAction": (("port", port_or_name),),
    "v1.GRPCAction": (("port", PORT),),
    "v1.PodSpec": (
        ("volumes", unique("name", at="name")),
        ("containers", REQUIRED),
        ("initContainers",),
        ("ephemeralContainers",),
        ("", _container_names),
        ("restartPolicy", REQUIRED, one_of("Always", "OnFailure", "Never")),
        ("dnsPolicy", REQUIRED, one_of("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None", "")),
        ("terminationGracePeriodSeconds", NON_NEGATIVE),
        ("serviceAccountName", DNS_SUBDOMAIN),
        ("nodeName", DNS_SUBDOMAIN),
        ("nodeSelector", labels),
        ("activeDeadlineSeconds", between(1, MAX_INT32)),
        ("hostname", DNS_LABEL),
        ("subdomain", DNS_LABEL),
        ("tolerations",),
        ("priorityClassName", DNS_SUBDOMAIN),
        ("runtimeClassName", DNS_SUBDOMAIN),
        ("preemptionPolicy", one_of("Never", "PreemptLowerPriority")),
    ),
    "v1.PodSchedulingGate": (("name", QUALIFIED_NAME),),
    "v1.PodReadinessGate": (("conditionType", QUALIFIED_NAME),),
    "v1.TopologySpreadConstraint": (
        ("maxSkew", at_least(1, "must be greater than zero")),
        ("topologyKey", REQUIRED, QUALIFIED_NAME),
        ("whenUnsatisfiable", REQUIRED, one_of("DoNotSchedule", "ScheduleAnyway")),
    ),
    "v1.PodAffinityTerm": (("topologyKey", REQUIRED, QUALIFIED_NAME),),
    "v1.WeightedPodAffinityTerm": (("weight", between(1, 100, "must be in the range 1-100")),),
    "v1.PreferredSchedulingTerm": (("weight", between(1, 100, "must be in the range 1-100")),),
    "v1.NodeSelector": (("nodeSelectorTerms", REQUIRED),),
    "v1.Toleration": (
        ("key", QUALIFIED_NAME),
        ("", _toleration),
        ("operator", one_of("Equal", "Exists")),
        ("effect", one_of(*_EFFECTS)),
    ),
    "v1.HostAlias": (("hostnames", REQUIRED),),
}  # fmt: skip
