"""The webhooks and policies that there are, compiled, as this process knows them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import orjson

from kinepy import KeyValue, Revision
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
Made = TypeVar("Made")


class Compiled:
    """What was made of each object, as long as the object stays as it is."""

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[Revision, Any]] = {}

    def of(self, kv: KeyValue, make: Callable[[Mapping[str, Any]], Made]) -> Made:
        """What is made of an object."""
        known = self._known.get(kv.key)
        if known is None or known[0] != kv.mod_revision:
            known = self._known[kv.key] = (kv.mod_revision, make(orjson.loads(kv.value)))
        made: Made = known[1]
        return made

    def bytes_to_come(self, objects: Collection[KeyValue]) -> int:
        """How much of these objects is not known yet; what is known of others is forgotten."""
        keys = {kv.key for kv in objects}
        self._known = {key: known for key, known in self._known.items() if key in keys}
        return sum(len(kv.value) for kv in objects if self._known.get(kv.key, (None,))[0] != kv.mod_revision)


class Configuration:
    """A state of all of them; compiled when first asked."""

    def __init__(self, objects: Collection[KeyValue], compiled: Compiled | None = None) -> None:
        self.objects = sorted(objects, key=lambda kv: kv.key)
        self._compiled = Compiled() if compiled is None else compiled

    def compile(self) -> None:
        """Compile them all now."""
        _ = self.mutating, self.validating, self.policies, self.mutating_policies

    def _made(self, prefix: bytes, make: Callable[[Mapping[str, Any]], Made]) -> list[Made]:
        return [self._compiled.of(kv, make) for kv in self.objects if kv.key.startswith(prefix)]

    def _webhooks(self, prefix: bytes) -> Sequence[Webhook]:
        return [webhook for webhooks in self._made(prefix, _webhooks_of) for webhook in webhooks]

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
        self, policies: bytes, bindings: bytes, kind: Callable[[Mapping[str, Any]], PolicyT]
    ) -> list[PolicyT]:
        bound: dict[str, list[Binding]] = {}
        for binding in self._made(bindings, Binding):
            bound.setdefault(binding.policy, []).append(binding)
        made = self._made(policies, kind)
        return [policy.bound(bound[policy.name]) for policy in made if policy.name in bound]


def _webhooks_of(configuration: Mapping[str, Any]) -> Sequence[Webhook]:
    return [Webhook(webhook) for webhook in configuration.get("webhooks") or ()]
