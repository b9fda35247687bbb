"""Which policies a write concerns, by which bindings and with which parameters."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from kinepy_server.context import Context
from kinepy_server.dynamic_admission.attributes import Attributes
from kinepy_server.dynamic_admission.equivalents import seen_by
from kinepy_server.dynamic_admission.matching import Matcher
from kinepy_server.dynamic_admission.parameters import BadParameters, params_of
from kinepy_server.dynamic_admission.policy import Binding, Policy
from kinepy_server.resources.resource import JsonObject

PolicyT = TypeVar("PolicyT", bound=Policy)


@dataclass(frozen=True, slots=True)
class Invocation(Generic[PolicyT]):
    """A policy to run once. `seen` is the write as the policy sees it; `problem` says why it cannot be run."""

    policy: PolicyT
    binding: Binding
    seen: Attributes
    params: JsonObject | None = None
    problem: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What tells it from others of the same write."""
        metadata = (self.params or {}).get("metadata") or {}
        return (
            self.policy.name,
            self.binding.name,
            metadata.get("namespace", ""),
            metadata.get("name", ""),
        )


async def invocations(
    context: Context, policies: Sequence[PolicyT], attributes: Attributes, *, namespace: JsonObject | None
) -> AsyncIterator[Invocation[PolicyT]]:
    """What is to be run, in order."""
    for policy in policies:
        seen = _seen(policy.matcher, attributes, context, namespace=namespace)
        if seen is None:
            continue
        for binding in policy.bindings:
            if binding.matcher is not None and not _seen(
                binding.matcher, attributes, context, namespace=namespace
            ):
                continue
            try:
                found = await params_of(context, policy, binding, attributes=attributes)
            except BadParameters as error:
                yield Invocation(policy, binding, seen, problem=f"failed to configure binding: {error}")
                continue
            for params in found:
                yield Invocation(policy, binding, seen, params)


def _seen(
    matcher: Matcher, attributes: Attributes, context: Context, *, namespace: JsonObject | None
) -> Attributes | None:
    seen = seen_by(matcher, attributes, context.registry)
    return seen if seen is not None and matcher.takes_namespace(seen, namespace) else None
