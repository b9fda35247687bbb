"""Checks of a Namespace's finalizers and status."""

from collections.abc import Sequence

from kinepy_server.resources.resource import FieldError, JsonObject
from kinepy_server.resources.strategies.keys import invalid, quoted
from kinepy_server.resources.strategies.qualified import qualified_name_problems

STANDARD = {"kubernetes", "orphan", "foregroundDeletion"}
NEITHER = "name is neither a standard finalizer name nor is it fully qualified"
ACTIVE_ONLY = "may only be 'Active' if `deletionTimestamp` is empty"
TERMINATING_ONLY = "may only be 'Terminating' if `deletionTimestamp` is not empty"


def finalizer_errors(finalizers: Sequence[str], *, indexed: bool) -> list[FieldError]:
    """Finalizers are qualified names, and either standard ones or with a domain.

    `/finalize` tells which one is wrong (`indexed`), the other endpoints name the whole list.
    """
    errors = []
    for index, name in enumerate(finalizers):
        field = f"spec.finalizers[{index}]" if indexed else "spec.finalizers"
        errors += [invalid(field, quoted(name), problem) for problem in qualified_name_problems(name)]
        if "/" not in name and name not in STANDARD:
            errors.append(invalid(field, quoted(name), NEITHER))
    return errors


def status_errors(new: JsonObject) -> list[FieldError]:
    """`Terminating` exactly when the namespace is being deleted."""
    phase, deleting = new["status"].get("phase", ""), "deletionTimestamp" in new["metadata"]
    if phase == ("Terminating" if deleting else "Active"):
        return []
    return [invalid("status.Phase", quoted(phase), TERMINATING_ONLY if deleting else ACTIVE_ONLY)]
