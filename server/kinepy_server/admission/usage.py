"""What objects use of a quota, by the names that quotas use. Pure."""

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal

from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.schema.quantity import quantity_value

Amounts = Mapping[str, Decimal]
ONE = Decimal(1)
COUNTED = frozenset(
    (
        "configmaps", "persistentvolumeclaims", "pods", "replicationcontrollers", "resourcequotas", "secrets",
        "services",
    )
)  # fmt: skip
"""Core resources that are also counted under their plain names."""
COMPUTE = ("cpu", "memory", "ephemeral-storage")
ENDED = frozenset(("Failed", "Succeeded"))


def usage_of(resource: Resource, obj: JsonObject) -> dict[str, Decimal]:
    """What an object uses."""
    used = {f"count/{resource.qualified}": ONE}
    if not resource.group and resource.plural in COUNTED:
        used[resource.plural] = ONE
    further = _FURTHER.get(resource.key_prefix)
    if further is not None:
        used.update(further(obj))
    return used


def measures(resource: Resource) -> Callable[[str], bool]:
    """Whether a name of a quota is about objects of a resource."""
    count = f"count/{resource.qualified}"
    plain = resource.plural if not resource.group and resource.plural in COUNTED else count
    about = _ABOUT.get(resource.key_prefix, _nothing)
    return lambda name: name in (count, plain) or about(name)


def _nothing(name: str) -> bool:
    return False


def _of_pods(name: str) -> bool:
    return name.removeprefix("requests.").removeprefix("limits.") in COMPUTE or name.startswith("requests.")


def _pod(pod: JsonObject) -> Iterator[tuple[str, Decimal]]:
    if (pod.get("status") or {}).get("phase") in ENDED:
        yield from (("pods", Decimal(0)), ("count/pods", Decimal(0)))
        return
    requests, limits = _totals(pod, "requests"), _totals(pod, "limits")
    for name, value in requests.items():
        yield f"requests.{name}", value
        if name in COMPUTE:
            yield name, value
    for name, value in limits.items():
        yield f"limits.{name}", value


def _totals(pod: JsonObject, field: str) -> dict[str, Decimal]:
    """All containers together, or the largest init container if that is more."""
    totals: dict[str, Decimal] = {}
    for container in pod["spec"].get("containers") or ():
        for name, text in ((container.get("resources") or {}).get(field) or {}).items():
            totals[name] = totals.get(name, Decimal(0)) + quantity_value(text)
    for container in pod["spec"].get("initContainers") or ():
        for name, text in ((container.get("resources") or {}).get(field) or {}).items():
            totals[name] = max(totals.get(name, Decimal(0)), quantity_value(text))
    return totals


def _claim(claim: JsonObject) -> Iterator[tuple[str, Decimal]]:
    storage = ((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage", "0")
    yield "requests.storage", quantity_value(storage)
    name = claim["spec"].get("storageClassName")
    if name:
        prefix = f"{name}.storageclass.storage.k8s.io"
        yield f"{prefix}/requests.storage", quantity_value(storage)
        yield f"{prefix}/persistentvolumeclaims", ONE


def _service(service: JsonObject) -> Iterator[tuple[str, Decimal]]:
    kind, ports = service["spec"].get("type"), service["spec"].get("ports") or ()
    if kind == "LoadBalancer":
        yield "services.loadbalancers", ONE
    if kind in ("NodePort", "LoadBalancer"):
        yield "services.nodeports", Decimal(len(ports))


_FURTHER: Mapping[str, Callable[[JsonObject], Iterator[tuple[str, Decimal]]]] = {
    "/registry/persistentvolumeclaims": _claim,
    "/registry/pods": _pod,
    "/registry/services/specs": _service,
}
_ABOUT: Mapping[str, Callable[[str], bool]] = {
    "/registry/persistentvolumeclaims": lambda name: (
        "storageclass.storage" in name or name == "requests.storage"
    ),
    "/registry/pods": lambda name: _of_pods(name) and name != "requests.storage",
    "/registry/services/specs": lambda name: name.startswith("services."),
}
