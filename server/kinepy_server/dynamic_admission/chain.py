"""All that is asked about a write, in the original's order: what may change the object, then what judges it."""

import orjson

from kinepy_server.context import Context
from kinepy_server.dynamic_admission.attributes import Attributes
from kinepy_server.dynamic_admission.configuration import Configuration
from kinepy_server.dynamic_admission.mutating import Mutations
from kinepy_server.dynamic_admission.policies import check_policies
from kinepy_server.dynamic_admission.webhooks import Webhooks
from kinepy_server.resources.resource import JsonObject


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
    ) -> None:
        self._context, self._configuration = context, configuration
        self._attributes, self._namespace, self._warnings = attributes, namespace, warnings
        self._webhooks = Webhooks(context, attributes, namespace=namespace, warnings=warnings)

    async def mutate(self) -> bool:
        """Policies, then webhooks; a second round for who asks for one, if anything changed. Whether it did."""
        configuration, attributes, webhooks = self._configuration, self._attributes, self._webhooks
        policies = configuration.mutating_policies if attributes.new is not None else ()
        if not policies and not configuration.mutating:
            return False
        before = orjson.dumps(attributes.new)
        mutations = Mutations(self._context, attributes, namespace=self._namespace)
        worked = await mutations.round(policies)
        if await webhooks.round(configuration.mutating) or worked:
            mutations.reinvocation.begin_second(attributes.new)
            await mutations.round(policies)
            webhooks.reinvocation.begin_second(attributes.new)
            await webhooks.round(configuration.mutating)
        return orjson.dumps(attributes.new) != before

    async def validate(self) -> None:
        """Policies, then webhooks. Raises the first refusal."""
        await check_policies(
            self._context,
            self._configuration.policies,
            self._attributes,
            namespace=self._namespace,
            warnings=self._warnings,
        )
        await self._webhooks.validate(self._configuration.validating)
