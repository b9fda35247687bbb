"""Patch (3.3): apply to the newest state until the result can be stored on top of it."""

from collections.abc import Callable
from functools import partial

import orjson

from kinepy import KeyValue
from kinepy_server.context import Context
from kinepy_server.errors import Cause, StatusError, invalid, not_found
from kinepy_server.negotiate import patch_type, unsupported_body
from kinepy_server.objects.codec import decode
from kinepy_server.patch.formats import FORMATS, STRATEGIC_MERGE_PATCH, Patch
from kinepy_server.read.shown import respond, single_view
from kinepy_server.request import Request
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.resources.strategies.keys import quoted
from kinepy_server.response import Response
from kinepy_server.schema.decode import DecodeError, Validation
from kinepy_server.wire.body import decode_value
from kinepy_server.writes.address import check_name, check_url_name, settle_namespace
from kinepy_server.writes.allocate import finisher
from kinepy_server.writes.apply import APPLY_PATCH, handle_apply
from kinepy_server.writes.create import actor_of, writer_of
from kinepy_server.writes.options import WriteOptions, write_options
from kinepy_server.writes.outcome import Decision, ForOneVersion, change
from kinepy_server.writes.prepare import prepare_changed
from kinepy_server.writes.review import review_of
from kinepy_server.writes.update import check_version, may_name_version

PATCH_TYPES = (*FORMATS, APPLY_PATCH)
_CUSTOM_PATCH_TYPES = tuple(name for name in PATCH_TYPES if name != STRATEGIC_MERGE_PATCH)


async def handle_patch(context: Context, request: Request, resource: Resource) -> Response:
    """Change an object by a patch. It conflicts only when the patch says which version it is for (PATCH-2)."""
    media_type = _media_type(resource, request.headers.get("content-type", ""))
    if media_type == APPLY_PATCH:
        return await handle_apply(context, request, resource)
    view, accepted = single_view(context, request, resource)
    options = write_options(request, "PatchOptions")
    check_url_name(request.name)
    read = partial(FORMATS[media_type], request.body, resource, context.settings)
    patcher = _Patcher(context, request, resource, options=options, read=read)
    outcome = await change(
        context,
        resource.key(request.namespace, request.name),
        ForOneVersion(patcher.decide) if may_name_version(request) else patcher.decide,
        resource=resource,
        actor=actor_of(request, options),
        dry_run=options.dry_run,
        finish=finisher(context, resource, pretend=options.dry_run),
        review=review_of(context, request, resource, dry_run=options.dry_run),
    )
    return await respond(view.one(outcome.kv), accepted)


def _media_type(resource: Resource, content_type: str) -> str:
    if resource.strategic_merge:
        return patch_type(content_type, PATCH_TYPES)
    media_type = content_type.partition(";")[0].strip()
    if media_type not in _CUSTOM_PATCH_TYPES:
        raise unsupported_body(_CUSTOM_PATCH_TYPES)
    return media_type


class _Patcher:
    """One PATCH."""

    def __init__(
        self,
        context: Context,
        request: Request,
        resource: Resource,
        *,
        options: WriteOptions,
        read: Callable[[], Patch],
    ) -> None:
        self._read = read
        self._context, self._request, self._resource = context, request, resource
        self._validation = options.validation
        self._writer = writer_of(context, resource, options, subresource=request.subresource)
        self._patch: Patch | None = None

    def decide(self, kv: KeyValue | None) -> Decision:
        """The patched object. A body that is no patch is refused only when there is an object (PATCH-3)."""
        request, resource = self._request, self._resource
        if kv is None:
            raise not_found(resource, request.name)
        if self._patch is None:
            self._patch = self._read()
        new = self._patched(kv, self._patch)
        metadata = new["metadata"]
        check_name(request, metadata)
        settle_namespace(request, resource, metadata)
        old = decode(resource, kv)
        self._context.identity.check_write(request, resource, new, old=old)
        check_version(resource, metadata, kv)
        return prepare_changed(resource, new, old, writer=self._writer, warnings=request.warnings)

    def _patched(self, kv: KeyValue, patch: Patch) -> JsonObject:
        value = patch.apply(decode(self._resource, kv))
        forgets_managers = _forgets_managers(value)
        try:
            obj, problems = decode_value(self._resource, self._context.registry, value)
        except DecodeError as error:
            raise self._rejected(kv, patch, str(error)) from None
        problems = [*patch.repeated, *problems]
        if problems and self._validation is Validation.STRICT:
            raise self._rejected(kv, patch, f"strict decoding error: {', '.join(problems)}")
        if self._validation is Validation.WARN:
            self._request.warnings.extend(problems)
        if forgets_managers:
            obj["metadata"]["managedFields"] = []
        return obj

    def _rejected(self, kv: KeyValue, patch: Patch, why: str) -> StatusError:
        """422 that shows the patched object, made once more since decoding has used it up (OPT-2)."""
        shown = patch.shown or orjson.dumps(patch.apply(decode(self._resource, kv))).decode()
        cause = Cause("FieldValueInvalid", f"Invalid value: {quoted(shown)}: {why}", "patch")
        return invalid("", "", "", causes=[cause])


def _forgets_managers(value: object) -> bool:
    # Decoding drops empty lists, but an empty list of managers is an order to forget them.
    metadata = value.get("metadata") if isinstance(value, dict) else None
    return isinstance(metadata, dict) and metadata.get("managedFields") == []
