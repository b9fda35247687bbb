"""The priority of pods: a number that follows from the name of a PriorityClass."""

from collections.abc import Callable, Mapping

from kinepy_server.admission.stored import stored_objects
from kinepy_server.context import Context
from kinepy_server.errors import forbidden
from kinepy_server.resources.resource import JsonObject, Resource

SYSTEM: Mapping[str, JsonObject] = {
    "system-cluster-critical": {"value": 2000000000},
    "system-node-critical": {"value": 2000001000},
}
"""Classes that there are whether or not they are stored."""
PREEMPTING = "PreemptLowerPriority"


async def pod_priority(context: Context, resource: Resource, obj: JsonObject) -> Callable[[JsonObject], None]:
    """Gives pods the priority of their class, or of the default one."""
    found = await stored_objects(context, ("scheduling.k8s.io", "v1", "priorityclasses"))
    classes = {**SYSTEM, **{one["metadata"]["name"]: one for one in found}}

    def admit(pod: JsonObject) -> None:
        spec = pod["spec"]
        if not spec.get("priorityClassName"):
            default = _default(classes)
            if default:
                spec["priorityClassName"] = default
        name = spec.get("priorityClassName", "")
        if name and name not in classes:
            why = f"no PriorityClass with name {name} was found"
            raise forbidden(resource, pod["metadata"].get("name", ""), why)
        _settle(resource, pod, classes.get(name, {}))

    return admit


def _settle(resource: Resource, pod: JsonObject, chosen: JsonObject) -> None:
    spec, value = pod["spec"], chosen.get("value", 0)
    given = spec.get("priority")
    if given is not None and given != value:
        why = (
            f"the integer value of priority ({given}) must not be provided in pod spec; priority admission controller"
            f" computed {value} from the given PriorityClass name"
        )
        raise forbidden(resource, pod["metadata"].get("name", ""), why)
    spec["priority"] = value
    if spec.get("preemptionPolicy") is None:
        spec["preemptionPolicy"] = chosen.get("preemptionPolicy", PREEMPTING)


def _default(classes: Mapping[str, JsonObject]) -> str:
    """The lowest of the classes that say they are the default; empty when there is none."""
    defaults = [(one["value"], name) for name, one in classes.items() if one.get("globalDefault")]
    return min(defaults)[1] if defaults else ""
