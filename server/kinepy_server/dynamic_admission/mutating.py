"""MutatingAdmissionPolicies: what they make of the object of a write."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import orjson

from kinepy_server.cel.off_loop import AtOnce, patiently
from kinepy_server.context import Context
from kinepy_server.dynamic_admission.answers import denied_by_mutating_policies, policy_denial, undecodable
from kinepy_server.dynamic_admission.attributes import Attributes
from kinepy_server.dynamic_admission.bodies import body_of
from kinepy_server.dynamic_admission.conditions import ConditionsFailed
from kinepy_server.dynamic_admission.equivalents import shown_as
from kinepy_server.dynamic_admission.expressions import Failed, Run
from kinepy_server.dynamic_admission.invocations import Invocation, invocations
from kinepy_server.dynamic_admission.mutations import Mutation, mutation_of
from kinepy_server.dynamic_admission.policy import Policy
from kinepy_server.dynamic_admission.reinvocation import Reinvocation
from kinepy_server.dynamic_admission.variables import values_of
from kinepy_server.resources.resource import JsonObject
from kinepy_server.schema.decode import DecodeError

CONFIGURATION_REASON = "Forbidden"
FAILURE_REASON = "Invalid"


class MutatingPolicy(Policy):
    """A policy that changes objects."""

    def __init__(self, obj: Mapping[str, Any]) -> None:
        super().__init__(obj)
        spec = obj.get("spec") or {}
        self.again = spec.get("reinvocationPolicy") == "IfNeeded"
        self.mutations = [mutation_of(one, self.terms) for one in spec.get("mutations") or ()]

    def change(self, mutation: Mutation, values: Mapping[str, Any], at_once: AtOnce) -> Any:
        """What a mutation wants to change. Raises Failed, Unfinished."""
        return mutation.evaluate(Run(values, self.variables, at_once=at_once))


class Mutations:
    """The mutating policies of one write."""

    def __init__(self, context: Context, attributes: Attributes, *, namespace: JsonObject | None) -> None:
        self._context, self._attributes, self._namespace = context, attributes, namespace
        self._body = body_of(context, attributes)
        self._at_once = AtOnce()
        self.reinvocation = Reinvocation()
        self._denials: list[tuple[str, str]] = []

    async def round(self, policies: Sequence[MutatingPolicy]) -> bool:
        """Let them change the object in their order; whether any has worked on it. Raises their refusal."""
        self._denials = []
        wanted = invocations(self._context, policies, self._attributes, namespace=self._namespace)
        # All of them match the object as it is before the first changes it.
        worked = [await self._invoke(one) for one in [one async for one in wanted]]
        if any(worked):
            self.reinvocation.changed()
        self.reinvocation.end(self._attributes.new)
        if self._denials:
            raise denied_by_mutating_policies(self._attributes, self._denials)
        return any(worked)

    async def _invoke(self, one: Invocation[MutatingPolicy]) -> bool:
        if one.problem:
            self._failed(one, one.problem, CONFIGURATION_REASON)
            return False
        try:
            if not await patiently(partial(one.policy.concerns, self._values(one)), self._at_once):
                return False
        except ConditionsFailed as error:
            self._failed(one, str(error), FAILURE_REASON)
            return False
        if not self.reinvocation.takes(one.key):
            return False
        before, worked = orjson.dumps(self._attributes.new), False
        for mutation in one.policy.mutations:
            try:
                await self._mutate(one, mutation)
                worked = True
            except Failed as error:
                self._failed(one, str(error), FAILURE_REASON)
        if orjson.dumps(self._attributes.new) != before:
            self.reinvocation.changed()
        if one.policy.again:
            self.reinvocation.asked(one.key)
        return worked

    def _values(self, one: Invocation[MutatingPolicy]) -> dict[str, Any]:
        one.seen.new = shown_as(self._attributes.new, self._attributes.resource, one.seen.resource)
        values = values_of(one.seen, namespace=self._namespace, context=self._context)
        return values | {"params": one.params}

    async def _mutate(self, one: Invocation[MutatingPolicy], mutation: Mutation) -> None:
        values = self._values(one)
        change = await patiently(partial(one.policy.change, mutation, values), self._at_once)
        seen = one.seen
        assert seen.new is not None, "nothing is deleted here"
        body = self._body if seen.resource is self._attributes.resource else body_of(self._context, seen)
        patched = mutation.applied(change, seen.new, body.type)
        if patched is None:
            return
        try:
            obj, unknown = body.read(patched)
        except DecodeError as error:
            raise undecodable(str(error)) from None
        if unknown and body.is_strict:
            raise undecodable(f"strict decoding error: {', '.join(unknown)}")
        body.default(obj)
        self._attributes.new = shown_as(obj, seen.resource, self._attributes.resource)

    def _failed(self, one: Invocation[MutatingPolicy], why: str, reason: str) -> None:
        if not one.policy.ignores_failure:
            text = policy_denial(one.policy.name, one.binding.name, why)
            self._denials.append((text, reason))
