"""The APIServices of what this server serves itself, and in which order discovery names groups. Pure."""

from collections.abc import Iterator, Mapping

from kinepy_server.aggregation.apiservice import AUTOMANAGED, GROUP, name_of
from kinepy_server.resources.registry import Registry
from kinepy_server.resources.resource import JsonObject

Priority = tuple[int, int]
"""Of the group among groups, of the version within its group; the larger one comes first."""

CUSTOM: Priority = (1000, 100)
"""That of custom resources."""
ABOVE_ALL: Priority = (20001, 0)
"""That of APIServices themselves, which have no APIService: no other can come before."""

_GROUPS: Mapping[str, int] = {
    "": 18000,
    "apps": 17800,
    "events.k8s.io": 17750,
    "authentication.k8s.io": 17700,
    "authorization.k8s.io": 17600,
    "autoscaling": 17500,
    "batch": 17400,
    "certificates.k8s.io": 17300,
    "networking.k8s.io": 17200,
    "policy": 17100,
    "rbac.authorization.k8s.io": 17000,
    "storage.k8s.io": 16800,
    "admissionregistration.k8s.io": 16700,
    "apiextensions.k8s.io": 16700,
    "scheduling.k8s.io": 16600,
    "coordination.k8s.io": 16500,
    "node.k8s.io": 16300,
    "discovery.k8s.io": 16200,
    "resource.k8s.io": 16200,
    "flowcontrol.apiserver.k8s.io": 16100,
}
_VERSIONS: Mapping[tuple[str, str], int] = {
    ("", "v1"): 1,
    ("autoscaling", "v2"): 30,
    ("flowcontrol.apiserver.k8s.io", "v1"): 21,
    ("resource.k8s.io", "v1"): 20,
}
_USUAL_VERSION = 15


def own_priority(group: str, version: str) -> Priority:
    """The priority of a group version that this server serves itself."""
    if group == GROUP:
        return ABOVE_ALL
    if group not in _GROUPS:
        return CUSTOM
    return _GROUPS[group], _VERSIONS.get((group, version), _USUAL_VERSION)


def built_in_services(registry: Registry) -> Iterator[tuple[str, str]]:
    """The built-in group versions that have an APIService."""
    for group in registry.groups():
        if group.name in _GROUPS:
            yield from ((group.name, version) for version in group.versions)


def own_service(group: str, version: str, *, managed: str) -> JsonObject:
    """The APIService of a group version that this server serves itself. `managed` is the value of its label."""
    of_group, of_version = own_priority(group, version)
    spec: JsonObject = {"version": version, "groupPriorityMinimum": of_group, "versionPriority": of_version}
    return {
        "metadata": {"name": name_of(group, version), "labels": {AUTOMANAGED: managed}},
        "spec": ({"group": group} if group else {}) | spec,
    }
