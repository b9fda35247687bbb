"""Lease: the bounds of its spec."""

from collections.abc import Sequence

from kinepy_server.resources.resource import FieldError, JsonObject
from kinepy_server.resources.strategies.keys import invalid
from kinepy_server.resources.strategies.plain import PlainStrategy


class LeaseStrategy(PlainStrategy):
    """Rules of Leases. Strategy and preferred holder belong to coordinated election, which is switched off."""

    def default(self, new: JsonObject) -> None:
        """There is always a spec; fields of coordinated election are dropped."""
        spec = new.setdefault("spec", {})
        spec.pop("strategy", None)
        spec.pop("preferredHolder", None)

    def validate_create(self, new: JsonObject) -> Sequence[FieldError]:
        """A positive duration, a number of transitions that is not negative."""
        spec = new["spec"]
        errors = []
        duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
        if duration is not None and duration <= 0:
            errors.append(invalid("spec.leaseDurationSeconds", str(duration), "must be greater than 0"))
        if transitions is not None and transitions < 0:
            errors.append(
                invalid("spec.leaseTransitions", str(transitions), "must be greater than or equal to 0")
            )
        return errors
