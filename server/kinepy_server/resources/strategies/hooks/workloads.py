"""What makes pods: counters that follow the generation, and nodes that are not ready yet."""

from collections.abc import Mapping, Sequence

from kinepy_server.resources.checks.causes import forbidden, path_of
from kinepy_server.resources.resource import FieldError, JsonObject
from kinepy_server.resources.strategies.typed import Hooks

TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def _daemon_set(new: JsonObject, old: JsonObject) -> None:
    """The annotation counts changes of the template."""
    count = int((old["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION) or 0)
    if new["spec"].get("template") != old["spec"].get("template"):
        count += 1
    new["metadata"].setdefault("annotations", {})[TEMPLATE_GENERATION] = str(count)


def _node(node: JsonObject) -> None:
    spec = node.setdefault("spec", {})
    if spec.get("podCIDR") and not spec.get("podCIDRs"):
        spec["podCIDRs"] = [spec["podCIDR"]]
    taints = spec.setdefault("taints", [])
    if not any(all(one.get(name) == value for name, value in NOT_READY.items()) for one in taints):
        taints.append(dict(NOT_READY))


def _api_service(obj: JsonObject) -> None:
    """What this server serves itself is available."""
    if not obj["spec"].get("service"):
        obj["status"]["conditions"] = [
            {
                "type": "Available",
                "status": "True",
                "lastTransitionTime": obj["metadata"]["creationTimestamp"],
                "reason": "Local",
                "message": "Local APIServices are always available",
            }
        ]


def _stateful_set(new: JsonObject, old: JsonObject) -> Sequence[FieldError]:
    names = (new["spec"].keys() | old["spec"].keys()) - _SET_CHANGES
    if all(new["spec"].get(name) == old["spec"].get(name) for name in names):
        return ()
    return [forbidden(path_of("spec"), SET_FIXED)]


_SET_CHANGES = frozenset(
    (
        "minReadySeconds", "ordinals", "persistentVolumeClaimRetentionPolicy", "replicas", "revisionHistoryLimit",
        "template", "updateStrategy",
    )
)  # fmt: skip
SET_FIXED = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy',"
    " 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


def _node_address(new: JsonObject, old: JsonObject) -> Sequence[FieldError]:
    before, after = ((obj.get("spec") or {}).get("podCIDRs") for obj in (old, new))
    if not before or before == after:
        return ()
    return [
        forbidden(path_of("spec.podCIDRs"), 'node updates may not change podCIDR except from "" to valid')
    ]


def _definition(definition: JsonObject) -> None:
    versions = definition["spec"].get("versions") or ()
    definition["status"] = {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": [version["name"] for version in versions if version.get("storage")],
    }


HOOKS: Mapping[str, Hooks] = {
    "apiregistration.v1.APIService": Hooks(create=_api_service),
    "apiextensions.v1.CustomResourceDefinition": Hooks(create=_definition),
    "apps.v1.DaemonSet": Hooks(update=_daemon_set),
    "apps.v1.StatefulSet": Hooks(check_update=_stateful_set),
    "v1.Node": Hooks(create=_node, check_update=_node_address),
}
