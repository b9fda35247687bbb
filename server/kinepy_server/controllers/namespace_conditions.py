"""What a dying namespace tells about its contents, in the original's words. Pure."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kinepy_server.resources.resource import JsonObject


@dataclass(slots=True)
class Remaining:
    """What a pass over a namespace left."""

    objects: Counter[str] = field(default_factory=Counter)
    """How many, by resource as `plural.group`; the group of core resources is empty, and the dot stays."""
    finalizers: Counter[str] = field(default_factory=Counter)
    """How many objects each finalizer holds."""
    failures: list[str] = field(default_factory=list)
    """What went wrong with deleting."""
    undiscovered: list[str] = field(default_factory=list)
    """The group versions of other servers that do not tell what they have."""

    def __bool__(self) -> bool:
        return bool(self.objects or self.failures or self.undiscovered)


class _Words(NamedTuple):
    reason: str
    message: str


_FINE: Mapping[str, _Words] = {
    "NamespaceDeletionDiscoveryFailure": _Words(
        "ResourcesDiscovered", "All resources successfully discovered"
    ),
    "NamespaceDeletionGroupVersionParsingFailure": _Words(
        "ParsedGroupVersions", "All legacy kube types successfully parsed"
    ),
    "NamespaceDeletionContentFailure": _Words(
        "ContentDeleted", "All content successfully deleted, may be waiting on finalization"
    ),
    "NamespaceContentRemaining": _Words("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": _Words(
        "ContentHasNoFinalizers", "All content-preserving finalizers finished"
    ),
}
"""Every condition and what it says while there is nothing to tell. Each is False when all is well."""


def _problems(remaining: Remaining) -> Mapping[str, _Words]:
    problems = {}
    if remaining.undiscovered:
        count = len(remaining.undiscovered)
        listed = ", ".join(
            f"{name}: stale GroupVersion discovery: {name}" for name in sorted(remaining.undiscovered)
        )
        message = (
            f"Discovery failed for some groups, {count} failing:"
            f" unable to retrieve the complete list of server APIs: {listed}"
        )
        problems["NamespaceDeletionDiscoveryFailure"] = _Words("DiscoveryFailed", message)
    if remaining.failures:
        count, texts = len(remaining.failures), ", ".join(remaining.failures)
        message = f"Failed to delete all resource types, {count} remaining: {texts}"
        problems["NamespaceDeletionContentFailure"] = _Words("ContentDeletionFailed", message)
    if remaining.objects:
        listed = ", ".join(
            f"{name} has {count} resource instances" for name, count in sorted(remaining.objects.items())
        )
        message = f"Some resources are remaining: {listed}"
        problems["NamespaceContentRemaining"] = _Words("SomeResourcesRemain", message)
    if remaining.finalizers:
        listed = ", ".join(
            f"{name} in {count} resource instances" for name, count in sorted(remaining.finalizers.items())
        )
        message = f"Some content in the namespace has finalizers remaining: {listed}"
        problems["NamespaceFinalizersRemaining"] = _Words("SomeFinalizersRemain", message)
    return problems


def set_conditions(namespace: JsonObject, remaining: Remaining, *, now: str) -> bool:
    """Write what remains into the status; returns whether that says something new.

    Conditions of others, and the time at which an unchanged condition began, stay.
    """
    status = namespace.setdefault("status", {})
    conditions: list[JsonObject] = list(status.get("conditions") or ())
    known = {condition["type"]: condition for condition in conditions}
    problems, changed = _problems(remaining), False
    for kind, fine in _FINE.items():
        words = problems.get(kind, fine)
        told = {
            "type": kind,
            "status": "True" if kind in problems else "False",
            "reason": words.reason,
            "message": words.message,
        }
        condition = known.get(kind)
        if condition is None:
            conditions.append({**told, "lastTransitionTime": now})
        elif any(condition.get(name) != value for name, value in told.items()):
            condition.update(told, lastTransitionTime=now)
        else:
            continue
        changed = True
    status["conditions"] = conditions
    return changed
