"""The parameters of a binding: objects that the expressions of its policy may look at."""

from collections.abc import Sequence

import orjson

from kinepy import KeyRange
from kinepy_server.context import Context
from kinepy_server.dynamic_admission.attributes import Attributes
from kinepy_server.dynamic_admission.matching import labels_of
from kinepy_server.dynamic_admission.policy import Binding, Policy
from kinepy_server.resources.resource import JsonObject, Resource


class BadParameters(Exception):
    """The parameters of a binding cannot be found."""


async def params_of(
    context: Context, policy: Policy, binding: Binding, *, attributes: Attributes
) -> Sequence[JsonObject | None]:
    """The parameters to run a policy with: one run for each. Raises BadParameters."""
    kind, ref = policy.param_kind, binding.param_ref
    if kind is None or ref is None:
        return [None]
    resource = _resource(context, kind.get("apiVersion", ""), kind.get("kind", ""))
    if ref.get("namespace") and not resource.namespaced:
        raise BadParameters("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    namespace = ref.get("namespace") or attributes.namespace if resource.namespaced else ""
    if resource.namespaced and not namespace:
        raise BadParameters(
            "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
        )
    found = await _stored(context, resource, namespace, binding=binding)
    if not found and ref.get("parameterNotFoundAction") != "Allow":
        raise BadParameters("no params found for policy binding with `Deny` parameterNotFoundAction")
    return found


def _resource(context: Context, api_version: str, kind: str) -> Resource:
    group, _, version = api_version.rpartition("/")
    for resource in context.registry.stored():
        if (resource.group, resource.version, resource.kind) == (group, version, kind):
            return resource
    raise BadParameters(f"failed to find resource referenced by paramKind: '{api_version}, Kind={kind}'")


async def _stored(
    context: Context, resource: Resource, namespace: str, *, binding: Binding
) -> list[JsonObject | None]:
    ref = binding.param_ref or {}
    selects = binding.selects_params
    if context.host is not None and context.registry.part(resource.group) is None:
        found = await context.host.objects(resource, namespace, ref.get("name") or "")
        return [obj for obj in found if ref.get("name") or selects is None or selects(labels_of(obj))]
    if ref.get("name"):
        kv = await context.store.get(resource.key(namespace, ref["name"]), consistent=False)
        return [orjson.loads(kv.value)] if kv is not None else []
    keys = KeyRange.prefix(resource.list_prefix(namespace))
    page = await context.store.range(keys, consistent=False)
    objects = [orjson.loads(kv.value) for kv in page.items]
    return [obj for obj in objects if selects is None or selects(labels_of(obj))]
