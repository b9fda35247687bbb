"""The subresource `scale`: an object's number of replicas as a Scale, whatever its type (3.5)."""

from functools import partial
from typing import TypeAlias

import orjson

from kinepy import KeyValue
from kinepy_server.apply.managers import Entry
from kinepy_server.apply.scale_entries import entries_of_object, entries_of_scale
from kinepy_server.context import Context
from kinepy_server.errors import Cause, StatusError, invalid, not_found, raw_error
from kinepy_server.negotiate import patch_type
from kinepy_server.objects.codec import decode, encode
from kinepy_server.objects.conversion import prepare
from kinepy_server.objects.metadata import metadata_errors
from kinepy_server.patch.formats import FORMATS, Patch
from kinepy_server.read.shown import respond, single_view
from kinepy_server.request import Request
from kinepy_server.resources.resource import JsonObject, Resource, Scaling
from kinepy_server.resources.scaling import put_replicas, scale_of, scale_resource
from kinepy_server.resources.strategies.keys import quoted
from kinepy_server.response import Response
from kinepy_server.schema.decode import DecodeError, Validation
from kinepy_server.wire.body import decode_value
from kinepy_server.writes.address import check_name, check_url_name, settle_namespace
from kinepy_server.writes.apply import APPLY_PATCH, Applier
from kinepy_server.writes.body import read_object
from kinepy_server.writes.create import actor_of, writer_of
from kinepy_server.writes.options import WriteOptions, write_options
from kinepy_server.writes.outcome import Decision, ForOneVersion, Reviewed, Write, change
from kinepy_server.writes.prepare import causes_of, prepare_again, prepare_changed
from kinepy_server.writes.review import ActionReview
from kinepy_server.writes.update import check_version, may_name_version, uid_conflict

Part: TypeAlias = "_ScaleUpdate | _ScalePatch | _ScaleApply"


async def handle_get_scale(context: Context, request: Request, resource: Resource) -> Response:
    """The Scale of an object."""
    scales = scale_resource(resource)
    view, accepted = single_view(context, request, scales)
    kv = await context.store.get(resource.key(request.namespace, request.name))
    if kv is None:
        raise not_found(resource, request.name)
    await prepare(resource, (kv,))
    return await respond(view.one(_shown(resource, scales, kv)), accepted)


async def handle_update_scale(context: Context, request: Request, resource: Resource) -> Response:
    """Set the number of replicas."""
    options = write_options(request, "UpdateOptions")
    check_url_name(request.name)
    return await _change(
        context, request, resource, part=_ScaleUpdate(context, request, resource, options=options)
    )


async def handle_patch_scale(context: Context, request: Request, resource: Resource) -> Response:
    """Change the number of replicas by a patch of the Scale."""
    media_type = patch_type(request.headers.get("content-type", ""), (*FORMATS, APPLY_PATCH))
    applies = media_type == APPLY_PATCH
    options = write_options(request, "PatchOptions", apply=applies)
    check_url_name(request.name)
    if applies:
        applied = _ScaleApply(context, request, resource, options=options)
        return await _change(context, request, resource, part=applied)
    scales = scale_resource(resource)
    patch = FORMATS[media_type](request.body, scales, context.settings)
    part = _ScalePatch(context, request, resource, options=options, patch=patch)
    return await _change(context, request, resource, part=part)


async def _change(context: Context, request: Request, resource: Resource, *, part: Part) -> Response:
    scales = scale_resource(resource)
    view, accepted = single_view(context, request, scales)
    outcome = await change(
        context,
        resource.key(request.namespace, request.name),
        ForOneVersion(part.decide) if may_name_version(request) else part.decide,
        resource=resource,
        actor=actor_of(request, part.options),
        dry_run=part.options.dry_run,
        review=_reviewed(context, request, resource, dry_run=part.options.dry_run),
    )
    return await respond(view.one(_shown(resource, scales, outcome.kv)), accepted)


def _reviewed(context: Context, request: Request, resource: Resource, *, dry_run: bool) -> Reviewed | None:
    """Webhooks and policies see the Scale, and may refuse it."""
    if context.extensions.configuration is None:
        return None
    scales = scale_resource(resource)
    kind = (scales.group, scales.version, scales.kind)
    review = ActionReview(context, request, resource, dry_run=dry_run, schema=scales.schema, kind=kind)

    async def reviewed(decision: Decision, kv: KeyValue | None) -> Decision:
        if kv is None or not isinstance(decision, Write):
            return decision
        changed = KeyValue(kv.key, decision.value, kv.create_revision, kv.mod_revision, kv.version)
        new, old = (decode(scales, _shown(resource, scales, one)) for one in (changed, kv))
        wanted = new["spec"].get("replicas", 0)
        scale = await review.judged("UPDATE", new, old)
        number = (scale.get("spec") or {}).get("replicas", 0)
        if number == wanted:
            return decision
        # The number is nobody's, as all that admission sets.
        errors = scales.strategy.validate_create(scale)
        if errors:
            raise invalid("Scale", "autoscaling", request.name, causes=causes_of(errors))
        assert resource.scaling is not None, "only types with a scaling have a scale"
        rescaled = decode(resource, changed)
        put_replicas(resource.scaling, rescaled, number)
        return prepare_again(resource, rescaled, decode(resource, kv), subresource="scale")

    return reviewed


def _shown(resource: Resource, scales: Resource, kv: KeyValue) -> KeyValue:
    """The record of an object as if it were its Scale's."""
    assert resource.scaling is not None, "only types with a scaling have a scale"
    return _as_record(scales, scale_of(resource.scaling, decode(resource, kv)), kv)


def _as_record(scales: Resource, scale: JsonObject, kv: KeyValue) -> KeyValue:
    value = encode(scales, scale)
    return KeyValue(kv.key, value, kv.create_revision, kv.mod_revision, kv.version)


class _Rescaling:
    """One write of a Scale."""

    def __init__(
        self, context: Context, request: Request, resource: Resource, *, options: WriteOptions
    ) -> None:
        assert resource.scaling is not None, "only types with a scaling have a scale"
        self.options = options
        self._context, self._request, self._resource = context, request, resource
        self._scaling: Scaling = resource.scaling
        self._scales = scale_resource(resource)
        self._writer = writer_of(context, resource, options, subresource="scale")

    def _rescaled(self, scale: JsonObject, kv: KeyValue, *, applied: list[Entry] | None = None) -> Decision:
        """The object with the replicas of a Scale."""
        resource, request = self._resource, self._request
        old = decode(resource, kv)
        metadata = scale["metadata"]
        uid = metadata.get("uid", "")
        if uid and uid != old["metadata"]["uid"]:
            raise uid_conflict(resource, request, wanted=uid, stored=old["metadata"]["uid"])
        check_version(resource, metadata, kv, unconditional=True)
        errors = [*metadata_errors(self._scales, metadata), *self._scales.strategy.validate_create(scale)]
        if errors:
            raise invalid("Scale", "autoscaling", request.name, causes=causes_of(errors))
        new = decode(resource, kv)
        put_replicas(self._scaling, new, (scale.get("spec") or {}).get("replicas", 0))
        return prepare_changed(
            resource, new, old, writer=self._writer, warnings=request.warnings, applied=applied
        )


class _ScaleUpdate(_Rescaling):
    """One PUT of a Scale."""

    def __init__(
        self, context: Context, request: Request, resource: Resource, *, options: WriteOptions
    ) -> None:
        super().__init__(context, request, resource, options=options)
        self._read = partial(read_object, context, request, self._scales, validation=options.validation)
        self._scale = self._read()
        check_name(request, self._scale["metadata"])
        settle_namespace(request, resource, self._scale["metadata"])

    def decide(self, kv: KeyValue | None) -> Decision:
        """The object with the new number."""
        if kv is None:
            raise not_found(self._resource, self._request.name)
        return self._rescaled(self._scale, kv)


class _ScalePatch(_Rescaling):
    """One PATCH of a Scale."""

    def __init__(
        self,
        context: Context,
        request: Request,
        resource: Resource,
        *,
        options: WriteOptions,
        patch: Patch,
    ) -> None:
        super().__init__(context, request, resource, options=options)
        self._patch = patch

    def decide(self, kv: KeyValue | None) -> Decision:
        """The object with the number of its patched Scale."""
        request, resource = self._request, self._resource
        if kv is None:
            raise not_found(resource, request.name)
        scale = decode(self._scales, _shown(resource, self._scales, kv))
        value = self._patch.apply(scale)
        shown = orjson.dumps(value).decode()
        try:
            scale, problems = decode_value(self._scales, self._context.registry, value)
        except DecodeError as error:
            raise _rejected(shown, str(error)) from None
        if problems and self.options.validation is Validation.STRICT:
            raise _rejected(shown, f"strict decoding error: {', '.join(problems)}")
        check_name(request, scale["metadata"])
        settle_namespace(request, resource, scale["metadata"])
        return self._rescaled(scale, kv)


class _ScaleApplier(Applier):
    """Applies a configuration to a Scale."""

    def ignored(self, config: JsonObject) -> frozenset[str]:
        """Only the number is written."""
        return frozenset(("status",))


class _ScaleApply(_Rescaling):
    """One apply patch of a Scale."""

    def __init__(
        self, context: Context, request: Request, resource: Resource, *, options: WriteOptions
    ) -> None:
        super().__init__(context, request, resource, options=options)
        self._applier = _ScaleApplier(context, request, self._scales, options=options)

    def decide(self, kv: KeyValue | None) -> Decision:
        """The object with the number of the Scale that the configuration makes."""
        request, resource = self._request, self._resource
        if kv is None:
            raise not_found(resource, request.name)
        if resource.shape is not None:
            raise _without_type(request)
        old = decode(resource, kv)
        before = old["metadata"].get("managedFields") or []
        scale = scale_of(self._scaling, old)
        scale["metadata"]["managedFields"] = entries_of_scale(before)
        scale, applied = self._applier.apply(_as_record(self._scales, scale, kv))
        scale["metadata"].pop("managedFields", None)
        entries = entries_of_object(applied.entries, before, api_version=resource.api_version)
        return self._rescaled(scale, kv, applied=entries)


def _without_type(request: Request) -> StatusError:
    """500: the original knows no type for the Scales of custom resources."""
    kind = "autoscaling/v1, Kind=Scale"
    what = f"failed to create typed patch object ({request.namespace}/{request.name}; {kind})"
    return raw_error(f"{what}: no corresponding type for {kind}")


def _rejected(shown: str, why: str) -> StatusError:
    return invalid(
        "",
        "",
        "",
        causes=[Cause("FieldValueInvalid", f"Invalid value: {quoted(shown)}: {why}", "patch")],
    )
