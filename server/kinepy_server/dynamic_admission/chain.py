"""All that is asked about a write, in the original's order: what may change the object, then what judges it."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import orjson

from kinepy_server.context import Context
from kinepy_server.dynamic_admission.attributes import Attributes
from kinepy_server.dynamic_admission.configuration import Configuration
from kinepy_server.dynamic_admission.extensions import UNSEEN_BY_POLICIES
from kinepy_server.dynamic_admission.mutating import Mutations
from kinepy_server.dynamic_admission.policies import check_policies
from kinepy_server.dynamic_admission.webhooks import Webhooks
from kinepy_server.resources.resource import JsonObject

BuiltIn: TypeAlias = Callable[[JsonObject], Awaitable[JsonObject]]
"""What built-in plugins, which were asked before, make of an object that has changed since."""


class Chain:
    """The policies and webhooks of a configuration, for one write."""

    def __init__(
        self,
        context: Context,
        configuration: Configuration,
        attributes: Attributes,
        *,
        namespace: JsonObject | None,
        warnings: list[str],
        built_in: BuiltIn | None = None,
    ) -> None:
        self._context, self._configuration, self._built_in = context, configuration, built_in
        self._attributes, self._namespace, self._warnings = attributes, namespace, warnings
        self._for_policies = attributes.resource.qualified not in UNSEEN_BY_POLICIES
        self._webhooks = Webhooks(context, attributes, namespace=namespace, warnings=warnings)

    async def mutate(self) -> bool:
        """Policies, then webhooks; if anything changed, what is built in, and a second round for who asks for one.
        Whether anything did."""
        configuration, attributes, webhooks = self._configuration, self._attributes, self._webhooks
        judged = attributes.new is not None and self._for_policies
        policies = configuration.mutating_policies if judged else ()
        if not policies and not configuration.mutating:
            return False
        before = orjson.dumps(attributes.new)
        mutations = Mutations(self._context, attributes, namespace=self._namespace)
        worked = await mutations.round(policies)
        if await webhooks.round(configuration.mutating) or worked:
            if self._built_in is not None and attributes.new is not None:
                attributes.new = await self._built_in(attributes.new)
            mutations.reinvocation.begin_second(attributes.new)
            await mutations.round(policies)
            webhooks.reinvocation.begin_second(attributes.new)
            await webhooks.round(configuration.mutating)
        return orjson.dumps(attributes.new) != before

    async def validate(self) -> None:
        """Policies, then webhooks. Raises the first refusal."""
        await check_policies(
            self._context,
            self._configuration.policies if self._for_policies else (),
            self._attributes,
            namespace=self._namespace,
            warnings=self._warnings,
        )
        await self._webhooks.validate(self._configuration.validating)
