"""Webhooks and policies have their say about a write between its preparation and its commit."""

import orjson

from kinepy import KeyValue, Revision
from kinepy_server.context import Context
from kinepy_server.dynamic_admission.attributes import Attributes
from kinepy_server.dynamic_admission.extensions import OWN_GROUP
from kinepy_server.errors import internal_error
from kinepy_server.objects.codec import decode
from kinepy_server.request import Request
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.schema.decode import DecodeError
from kinepy_server.wire.body import decode_value
from kinepy_server.writes.outcome import Decision, Remove, Write
from kinepy_server.writes.prepare import prepare_again

_NAMESPACES = "/registry/namespaces"
_OPTIONS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}


def review_of(
    context: Context, request: Request, resource: Resource, *, dry_run: bool, deletes: bool = False
) -> "Review | None":
    """What reviews a write; None when there are no webhooks and policies, or none for such objects."""
    if context.extensions.configuration is None or resource.group == OWN_GROUP:
        return None
    return Review(context, request, resource, dry_run=dry_run, deletes=deletes)


class Review:
    """The review of one write, repeated for each state that it is tried on."""

    def __init__(
        self, context: Context, request: Request, resource: Resource, *, dry_run: bool, deletes: bool
    ) -> None:
        self._context, self._request, self._resource = context, request, resource
        self._dry_run, self._deletes = dry_run, deletes

    async def __call__(self, decision: Decision, kv: KeyValue | None) -> Decision:
        """The decision, with what webhooks changed in it. Raises the refusal of a webhook or policy."""
        old = None if kv is None else decode(self._resource, kv)
        if self._deletes:
            await self._judge(self._attributes("DELETE", None, old))
            return decision
        if not isinstance(decision, Write | Remove):
            return decision
        new = self._decoded(decision.value, kv)
        attributes = self._attributes("CREATE" if kv is None else "UPDATE", new, old)
        if await self._judge(attributes):
            assert attributes.new is not None
            return self._prepared(attributes.new, new, old)
        return decision

    async def created(self, value: bytes) -> bytes:
        """The value of an object that is to be created."""
        decision = await self(Write(value), None)
        assert isinstance(decision, Write)
        return decision.value

    def _attributes(self, operation: str, new: JsonObject | None, old: JsonObject | None) -> Attributes:
        request = self._request
        metadata = ((new or old) or {}).get("metadata") or {}
        options = {"kind": _OPTIONS[operation], "apiVersion": "meta.k8s.io/v1"}
        return Attributes(
            operation,
            self._resource,
            request.subresource,
            request.namespace or metadata.get("namespace", ""),
            metadata.get("name", "") or request.name,
            request.user,
            new,
            old,
            options,
            self._dry_run,
        )

    async def _judge(self, attributes: Attributes) -> bool:
        """Ask webhooks and policies; whether a webhook has changed the object."""
        extensions, warnings = self._context.extensions, self._request.warnings
        configuration = extensions.configuration
        if configuration is None:
            return False
        # As long as there is nothing to be asked, nobody should wait for these.
        from kinepy_server.dynamic_admission.policies import check_policies
        from kinepy_server.dynamic_admission.webhooks import Webhooks

        namespace = await self._namespace(attributes)
        webhooks = Webhooks(extensions.clients, attributes, namespace=namespace, warnings=warnings)
        changed = await webhooks.mutate(configuration.mutating)
        await check_policies(
            self._context, configuration.policies, attributes, namespace=namespace, warnings=warnings
        )
        await webhooks.validate(configuration.validating)
        return changed

    async def _namespace(self, attributes: Attributes) -> JsonObject | None:
        if not attributes.resource.namespaced:
            return None
        key = f"{_NAMESPACES}/{attributes.namespace}".encode()
        kv = await self._context.store.get(key, consistent=False)
        found: JsonObject | None = None if kv is None else orjson.loads(kv.value)
        return found

    def _decoded(self, value: bytes, kv: KeyValue | None) -> JsonObject:
        revision = Revision(0) if kv is None else kv.mod_revision
        new = decode(self._resource, KeyValue(b"", value, revision, revision, 0))
        if kv is None:
            new["metadata"].pop("resourceVersion", None)
        return new

    def _prepared(self, patched: JsonObject, prepared: JsonObject, old: JsonObject | None) -> Decision:
        try:
            new = decode_value(self._resource, self._context.registry, patched)[0]
        except DecodeError as error:
            raise internal_error(str(error)) from None
        for name in ("uid", "creationTimestamp", "name", "namespace"):
            if name in prepared["metadata"]:
                new["metadata"][name] = prepared["metadata"][name]
        return prepare_again(self._resource, new, old, subresource=self._request.subresource)
