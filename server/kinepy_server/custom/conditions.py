"""What the status of a definition is to say (CRD-4). Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from kinepy_server.custom.definition import ESTABLISHED, NAMES_ACCEPTED, Definition
from kinepy_server.custom.names import Acceptance
from kinepy_server.resources.resource import JsonObject

APPROVAL = "api-approved.kubernetes.io"
CONFORMANT = "KubernetesAPIApprovalPolicyConformant"
_PROTECTED = ("k8s.io", "kubernetes.io")
_UNAPPROVED = "unapproved"


def is_protected(group: str) -> bool:
    """Whether a group belongs to the Kubernetes community."""
    return any(group == suffix or group.endswith(f".{suffix}") for suffix in _PROTECTED)


def wanted_status(definition: Definition, acceptance: Acceptance, *, now: str) -> JsonObject | None:
    """The parts of the status that must change; None when it says what is true."""
    conditions = [dict(one) for one in definition.conditions]
    for kind, status, reason, message in _wanted(definition, acceptance):
        set_condition(conditions, kind, status=status, reason=reason, message=message, now=now)
    if conditions == list(definition.conditions) and acceptance.names == definition.accepted:
        return None
    return {"acceptedNames": acceptance.names.as_json(), "conditions": conditions}


def _wanted(definition: Definition, acceptance: Acceptance) -> Sequence[tuple[str, str, str, str]]:
    established = definition.is_true(ESTABLISHED)
    if acceptance.complete:
        found = [(NAMES_ACCEPTED, "True", "NoConflicts", "no conflicts found")]
        if not established:
            told = "the initial names have been accepted"
            found.append((ESTABLISHED, "True", "InitialNamesAccepted", told))
    else:
        found = [(NAMES_ACCEPTED, "False", acceptance.reason, acceptance.message)]
        if not established:
            found.append((ESTABLISHED, "False", "NotAccepted", "not all names are accepted"))
    return [*found, *_approval(definition)]


def _approval(definition: Definition) -> Sequence[tuple[str, str, str, str]]:
    value = definition.annotations.get(APPROVAL)
    if not is_protected(definition.group) or not value:
        return ()
    if value.startswith(_UNAPPROVED):
        return ((CONFORMANT, "False", "UnapprovedAnnotation", f'not approved: "{value}"'),)
    return ((CONFORMANT, "True", "ApprovedAnnotation", f"approved in {value}"),)


def set_condition(
    conditions: list[dict[str, Any]], kind: str, *, status: str, reason: str, message: str, now: str
) -> None:
    """Set a condition; its time changes with its status alone."""
    made: dict[str, Any] = {
        "lastTransitionTime": now,
        "message": message,
        "reason": reason,
        "status": status,
        "type": kind,
    }
    for index, one in enumerate(conditions):
        if one.get("type") == kind:
            if one.get("status") == status:
                made["lastTransitionTime"] = one.get("lastTransitionTime", now)
            if not _same(one, made):
                conditions[index] = made
            return
    conditions.append(made)


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(one.get(name) == other[name] for name in ("status", "reason", "message"))
