"""What makes pods: counters that follow the generation, and nodes that are not ready yet."""

from collections.abc import Mapping

from kinepy_server.resources.resource import JsonObject
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


HOOKS: Mapping[str, Hooks] = {
    "apiregistration.v1.APIService": Hooks(create=_api_service),
    "apps.v1.DaemonSet": Hooks(update=_daemon_set),
    "v1.Node": Hooks(create=_node),
}
