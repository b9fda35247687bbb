"""Which pods a quota with scopes is about. Pure."""

from collections.abc import Callable, Mapping

from kinepy_server.resources.resource import JsonObject
from kinepy_server.resources.strategies.hooks.quality import quality_class


def _ends(pod: JsonObject) -> bool:
    return pod["spec"].get("activeDeadlineSeconds") is not None


def _best_effort(pod: JsonObject) -> bool:
    return quality_class(pod["spec"]) == "BestEffort"


_SCOPES: Mapping[str, Callable[[JsonObject], bool]] = {
    "BestEffort": _best_effort,
    "NotBestEffort": lambda pod: not _best_effort(pod),
    "NotTerminating": lambda pod: not _ends(pod),
    "PriorityClass": lambda pod: bool(pod["spec"].get("priorityClassName")),
    "Terminating": _ends,
}


def in_scopes(quota: JsonObject, obj: JsonObject) -> bool:
    """Whether a quota counts an object: all its scopes fit. Quotas with scopes count pods only."""
    spec = quota.get("spec") or {}
    scopes = spec.get("scopes") or ()
    expressions = (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    if not scopes and not expressions:
        return True
    if "containers" not in (obj.get("spec") or {}):
        return False
    return all(_fits(scope, obj) for scope in scopes) and all(_meets(one, obj) for one in expressions)


def _fits(scope: str, pod: JsonObject) -> bool:
    check = _SCOPES.get(scope)
    return check is not None and check(pod)


def _meets(expression: JsonObject, pod: JsonObject) -> bool:
    scope, values = expression.get("scopeName", ""), expression.get("values") or ()
    if scope != "PriorityClass":
        return _fits(scope, pod)
    name = pod["spec"].get("priorityClassName", "")
    match expression.get("operator"):
        case "In":
            return name in values
        case "NotIn":
            return name not in values
        case "Exists":
            return bool(name)
        case _:
            return not name
