"""Webhooks and policies have their say about a write between its preparation and its commit."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import orjson

from kinepy import KeyValue, Revision
from kinepy_server.admission import admission_of, has_plugins
from kinepy_server.apply.managers import entries_problem
from kinepy_server.context import Context
from kinepy_server.dynamic_admission.attributes import Attributes
from kinepy_server.dynamic_admission.extensions import OWN_GROUP
from kinepy_server.errors import internal_error
from kinepy_server.objects.codec import decode
from kinepy_server.objects.conversion import converting
from kinepy_server.request import Request
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.schema.decode import DecodeError
from kinepy_server.wire.body import decode_value
from kinepy_server.writes.outcome import Decision, Remove, Write
from kinepy_server.writes.prepare import prepare_again

if TYPE_CHECKING:
    from kinepy_server.dynamic_admission.chain import BuiltIn

_NAMESPACES = "/registry/namespaces"
_BAD_MANAGERS = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating"
    " admission controller; please fix your requests"
)
_KINDS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}


def _options(operation: str) -> JsonObject:
    return {"kind": _KINDS[operation], "apiVersion": "meta.k8s.io/v1"}


def review_of(
    context: Context, request: Request, resource: Resource, *, dry_run: bool, deletes: bool = False
) -> "Review | None":
    """What reviews a write; None when there are no webhooks and policies, or none for such objects."""
    if context.extensions.configuration is None or resource.group == OWN_GROUP:
        return None
    return Review(context, request, resource, dry_run=dry_run, deletes=deletes)


async def judge(
    context: Context,
    attributes: Attributes,
    *,
    warnings: list[str],
    built_in: "BuiltIn | None" = None,
    between: Callable[[], None] | None = None,
) -> bool:
    """Ask webhooks and policies; whether any has changed the object. Raises their refusal.

    `between` is called when nothing will change the object any more, and before it is judged.
    """
    configuration = context.extensions.configuration
    if configuration is None:
        return False
    # As long as there is nothing to be asked, nobody should wait for these.
    from kinepy_server.dynamic_admission.chain import Chain

    namespace = await _namespace(context, attributes)
    chain = Chain(
        context, configuration, attributes, namespace=namespace, warnings=warnings, built_in=built_in
    )
    changed = await chain.mutate()
    if between is not None:
        between()
    await chain.validate()
    return changed


async def _namespace(context: Context, attributes: Attributes) -> JsonObject | None:
    if not attributes.resource.namespaced:
        return None
    if context.host is not None:
        return await context.host.namespace(attributes.namespace)
    kv = await context.store.get(f"{_NAMESPACES}/{attributes.namespace}".encode(), consistent=False)
    found: JsonObject | None = None if kv is None else orjson.loads(kv.value)
    return found


class ActionReview:
    """The review of a write of what is no stored object: a Scale, an Eviction, a Binding, a question."""

    def __init__(
        self,
        context: Context,
        request: Request,
        resource: Resource,
        *,
        dry_run: bool,
        schema: str,
        kind: tuple[str, str, str],
    ) -> None:
        self._context, self._request, self._resource = context, request, resource
        self._dry_run, self._schema, self._kind = dry_run, schema, kind

    async def judged(
        self,
        operation: str,
        new: JsonObject,
        old: JsonObject | None = None,
        *,
        check: Callable[[JsonObject], None] = lambda new: None,
    ) -> JsonObject:
        """What webhooks and policies made of the body. `check` looks at it before it is judged. Raises refusals."""
        if self._context.extensions.configuration is None:
            check(new)
            return new
        request = self._request
        group, version, kind = self._kind
        new = {**new, "apiVersion": f"{group}/{version}" if group else version, "kind": kind}
        attributes = Attributes(
            operation=operation,
            resource=self._resource,
            subresource=request.subresource,
            namespace=request.namespace,
            name=request.name or (new.get("metadata") or {}).get("name", ""),
            user=request.user,
            new=new,
            old=old,
            options=_options(operation),
            dry_run=self._dry_run,
            kind=self._kind,
            schema=self._schema,
        )

        def between() -> None:
            assert attributes.new is not None, "a body that was given stays"
            attributes.new = self._read(attributes, attributes.new)
            check(attributes.new)

        await judge(self._context, attributes, warnings=request.warnings, between=between)
        return attributes.new or new

    def _read(self, attributes: Attributes, changed: JsonObject) -> JsonObject:
        """The body as it is after webhooks, which may have made anything of it."""
        from kinepy_server.dynamic_admission.bodies import body_of

        try:
            obj = body_of(self._context, attributes).read(orjson.loads(orjson.dumps(changed)))[0]
        except DecodeError as error:
            raise internal_error(str(error)) from None
        obj.setdefault("metadata", {})
        return obj


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
            await self._judged(self._attributes("DELETE", None, old))
            return decision
        if not isinstance(decision, Write | Remove):
            return decision
        new = self._decoded(decision.value, kv)
        attributes = self._attributes("CREATE" if kv is None else "UPDATE", new, old)
        if await self._judged(attributes):
            assert attributes.new is not None
            return await self._prepared(attributes.new, new, old)
        return decision

    async def created(self, value: bytes) -> bytes:
        """The value of an object that is to be created."""
        decision = await self(Write(value), None)
        assert isinstance(decision, Write)
        return decision.value

    def _attributes(self, operation: str, new: JsonObject | None, old: JsonObject | None) -> Attributes:
        request = self._request
        metadata = ((new or old) or {}).get("metadata") or {}
        return Attributes(
            operation=operation,
            resource=self._resource,
            subresource=request.subresource,
            namespace=request.namespace or metadata.get("namespace", ""),
            name=metadata.get("name", "") or request.name,
            user=request.user,
            new=new,
            old=old,
            options=_options(operation),
            dry_run=self._dry_run,
        )

    async def _judged(self, attributes: Attributes) -> bool:
        again = attributes.operation == "CREATE" and has_plugins(self._resource)
        built_in = self._built_in if again else None
        return await judge(self._context, attributes, warnings=self._request.warnings, built_in=built_in)

    async def _built_in(self, changed: JsonObject) -> JsonObject:
        """The object after built-in plugins have seen what it is now, such as containers that were added."""
        try:
            obj = decode_value(self._resource, self._context.registry, changed)[0]
        except DecodeError as error:
            raise internal_error(str(error)) from None
        self._resource.strategy.default(obj)
        admit = await admission_of(self._context, self._resource, obj)
        if admit is not None:
            admit(obj)
        return obj

    def _decoded(self, value: bytes, kv: KeyValue | None) -> JsonObject:
        revision = Revision(0) if kv is None else kv.mod_revision
        new = decode(self._resource, KeyValue(b"", value, revision, revision, 0))
        if kv is None:
            new["metadata"].pop("resourceVersion", None)
        return new

    async def _prepared(self, patched: JsonObject, prepared: JsonObject, old: JsonObject | None) -> Decision:
        async def attempt() -> Decision:
            return self._prepared_at_once(patched, prepared, old)

        # What must be waited for is waited for here: no webhook is asked again because of it.
        return await converting(attempt)

    def _prepared_at_once(
        self, patched: JsonObject, prepared: JsonObject, old: JsonObject | None
    ) -> Decision:
        try:
            new = decode_value(self._resource, self._context.registry, patched)[0]
        except DecodeError as error:
            raise internal_error(str(error)) from None
        for name in ("uid", "creationTimestamp", "name", "namespace"):
            if name in prepared["metadata"]:
                new["metadata"][name] = prepared["metadata"][name]
        self._keep_managers(new["metadata"], prepared["metadata"])
        return prepare_again(self._resource, new, old, subresource=self._request.subresource)

    def _keep_managers(self, changed: JsonObject, prepared: JsonObject) -> None:
        """Managers of fields that make no sense any more are those from before."""
        before, after = prepared.get("managedFields"), changed.get("managedFields") or ()
        problem = entries_problem(after) if after != before else ""
        if problem:
            changed["managedFields"] = before
            self._request.warnings.append(f"{_BAD_MANAGERS}: {problem}")
