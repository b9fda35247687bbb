"""The webhooks and policies that there are, compiled, as this process knows them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import orjson

from kinepy import KeyValue
from kinepy_server.dynamic_admission.extensions import (
    BINDINGS,
    MUTATING,
    MUTATING_BINDINGS,
    MUTATING_POLICIES,
    POLICIES,
    VALIDATING,
)
from kinepy_server.dynamic_admission.mutating import MutatingPolicy
from kinepy_server.dynamic_admission.policy import Binding, Policy
from kinepy_server.dynamic_admission.validating import ValidatingPolicy
from kinepy_server.dynamic_admission.webhook import Webhook

PolicyT = TypeVar("PolicyT", bound=Policy)


class Configuration:
    """A state of all of them; compiled when first asked."""

    def __init__(self, objects: Collection[KeyValue]) -> None:
        self.objects = sorted(objects, key=lambda kv: kv.key)

    def _decoded(self, prefix: bytes) -> Sequence[Mapping[str, Any]]:
        return [orjson.loads(kv.value) for kv in self.objects if kv.key.startswith(prefix)]

    def _webhooks(self, prefix: bytes) -> Sequence[Webhook]:
        return [
            Webhook(webhook)
            for configuration in self._decoded(prefix)
            for webhook in configuration.get("webhooks") or ()
        ]

    @cached_property
    def mutating(self) -> Sequence[Webhook]:
        """Webhooks that may change objects, in the order in which they are asked."""
        return self._webhooks(MUTATING)

    @cached_property
    def validating(self) -> Sequence[Webhook]:
        """Webhooks that only judge."""
        return self._webhooks(VALIDATING)

    @cached_property
    def policies(self) -> Sequence[ValidatingPolicy]:
        """Validating policies that are bound, with their bindings."""
        return self._bound(POLICIES, BINDINGS, ValidatingPolicy)

    @cached_property
    def mutating_policies(self) -> Sequence[MutatingPolicy]:
        """Mutating policies that are bound, in the order in which they work."""
        return self._bound(MUTATING_POLICIES, MUTATING_BINDINGS, MutatingPolicy)

    def _bound(
        self, policies: bytes, bindings: bytes, kind: Callable[[Mapping[str, Any], list[Binding]], PolicyT]
    ) -> list[PolicyT]:
        bound: dict[str, list[Binding]] = {}
        for binding in map(Binding, self._decoded(bindings)):
            bound.setdefault(binding.policy, []).append(binding)
        found = []
        for policy in self._decoded(policies):
            own = bound.get(policy["metadata"]["name"])
            if own:
                found.append(kind(policy, own))
        return found
