"""What the bound validating policies say of a write."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from kinepy_server.cel.off_loop import AtOnce, patiently
from kinepy_server.context import Context
from kinepy_server.dynamic_admission.answers import denied_by_policy
from kinepy_server.dynamic_admission.attributes import Attributes
from kinepy_server.dynamic_admission.invocations import Invocation, invocations
from kinepy_server.dynamic_admission.validating import Finding, ValidatingPolicy
from kinepy_server.dynamic_admission.variables import values_of
from kinepy_server.resources.resource import JsonObject


async def check_policies(
    context: Context,
    policies: Sequence[ValidatingPolicy],
    attributes: Attributes,
    *,
    namespace: JsonObject | None,
    warnings: list[str],
) -> None:
    """Raise the first refusal; findings that are only to be told become warnings."""
    at_once = AtOnce()
    known: tuple[Attributes | None, dict[str, Any]] = (None, {})
    async for one in invocations(context, policies, attributes, namespace=namespace):
        if one.problem:
            findings = one.policy.failed(one.problem)
        else:
            if one.seen is not known[0]:
                known = one.seen, values_of(one.seen, namespace=namespace, context=context)
            values = known[1] | {"params": one.params}
            findings = await patiently(partial(one.policy.findings, values), at_once)
        for finding in findings:
            _tell(one, finding, warnings=warnings)


def _tell(one: Invocation[ValidatingPolicy], finding: Finding, *, warnings: list[str]) -> None:
    named = f"ValidatingAdmissionPolicy '{one.policy.name}' with binding '{one.binding.name}'"
    if "Warn" in one.binding.actions:
        warnings.append(f"Validation failed for {named}: {finding.message}")
    if "Deny" in one.binding.actions:
        text = f"{named} denied request: {finding.message}"
        raise denied_by_policy(one.seen, finding, text=text)
