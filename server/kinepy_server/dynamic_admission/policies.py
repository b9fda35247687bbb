"""What the bound policies say of a write."""

from collections.abc import Sequence
from typing import Any

import orjson

from kinepy import KeyRange
from kinepy_server.context import Context
from kinepy_server.dynamic_admission.answers import denied_by_policy
from kinepy_server.dynamic_admission.attributes import Attributes
from kinepy_server.dynamic_admission.equivalents import seen_by
from kinepy_server.dynamic_admission.matching import Matcher, labels_of
from kinepy_server.dynamic_admission.policy import Binding, Finding, Policy
from kinepy_server.dynamic_admission.variables import values_of
from kinepy_server.resources.resource import JsonObject, Resource


class BadParameters(Exception):
    """The parameters of a binding cannot be found."""


async def check_policies(
    context: Context,
    policies: Sequence[Policy],
    attributes: Attributes,
    *,
    namespace: JsonObject | None,
    warnings: list[str],
) -> None:
    """Raise the first refusal; findings that are only to be told become warnings."""
    for policy in policies:
        seen = _seen(policy.matcher, attributes, context, namespace=namespace)
        if seen is None:
            continue
        for binding in policy.bindings:
            if binding.matcher is not None and not _seen(
                binding.matcher, attributes, context, namespace=namespace
            ):
                continue
            values = values_of(seen, namespace=namespace, context=context)
            for finding in await _findings(context, policy, binding, attributes=seen, values=values):
                _tell(policy, binding, finding, attributes=attributes, warnings=warnings)


def _seen(
    matcher: Matcher, attributes: Attributes, context: Context, *, namespace: JsonObject | None
) -> Attributes | None:
    seen = seen_by(matcher, attributes, context.registry)
    return seen if seen is not None and matcher.takes_namespace(seen, namespace) else None


async def _findings(
    context: Context, policy: Policy, binding: Binding, *, attributes: Attributes, values: dict[str, Any]
) -> list[Finding]:
    try:
        params = await _params(context, policy, binding, attributes=attributes)
    except BadParameters as error:
        return policy.failed(f"failed to configure binding: {error}")
    return [finding for param in params for finding in policy.findings({**values, "params": param})]


def _tell(
    policy: Policy, binding: Binding, finding: Finding, *, attributes: Attributes, warnings: list[str]
) -> None:
    named = f"ValidatingAdmissionPolicy '{policy.name}' with binding '{binding.name}'"
    if "Warn" in binding.actions:
        warnings.append(f"Validation failed for {named}: {finding.message}")
    if "Deny" in binding.actions:
        text = f"{named} denied request: {finding.message}"
        raise denied_by_policy(attributes, finding, text=text)


async def _params(
    context: Context, policy: Policy, binding: Binding, *, attributes: Attributes
) -> Sequence[JsonObject | None]:
    """The parameters to run a policy with: one run for each. Raises BadParameters."""
    kind, ref = policy.param_kind, binding.param_ref
    if kind is None or ref is None:
        return [None]
    resource = _param_resource(context, kind.get("apiVersion", ""), kind.get("kind", ""))
    namespace = ref.get("namespace") or attributes.namespace if resource.namespaced else ""
    if resource.namespaced and not namespace:
        raise BadParameters(
            "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
        )
    found = await _stored(context, resource, namespace, binding=binding)
    if not found and ref.get("parameterNotFoundAction") != "Allow":
        raise BadParameters("no params found for policy binding with `Deny` parameterNotFoundAction")
    return found


def _param_resource(context: Context, api_version: str, kind: str) -> Resource:
    group, _, version = api_version.rpartition("/")
    for resource in context.registry.stored():
        if (resource.group, resource.version, resource.kind) == (group, version, kind):
            return resource
    raise BadParameters(f"failed to find resource referenced by paramKind: '{api_version}, Kind={kind}'")


async def _stored(
    context: Context, resource: Resource, namespace: str, *, binding: Binding
) -> list[JsonObject | None]:
    ref = binding.param_ref or {}
    if ref.get("name"):
        kv = await context.store.get(resource.key(namespace, ref["name"]), consistent=False)
        return [orjson.loads(kv.value)] if kv is not None else []
    keys = KeyRange.prefix(resource.list_prefix(namespace))
    page = await context.store.range(keys, consistent=False)
    objects = [orjson.loads(kv.value) for kv in page.items]
    selects = binding.selects_params
    return [obj for obj in objects if selects is None or selects(labels_of(obj))]
