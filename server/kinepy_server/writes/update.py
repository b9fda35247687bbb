"""Update (3.2)."""

from functools import partial

from kinepy import KeyValue
from kinepy_server.admission import charge_of
from kinepy_server.apply.managed_fields import Writer
from kinepy_server.context import Context
from kinepy_server.errors import Cause, StatusError, conflict, invalid, modified, not_found, raw_error
from kinepy_server.objects.codec import decode
from kinepy_server.objects.namespaces import require_namespace
from kinepy_server.read.options import BadNumber, parse_revision
from kinepy_server.read.shown import respond, single_view
from kinepy_server.request import Request
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.response import Response
from kinepy_server.writes.address import check_name, check_url_name, settle_namespace
from kinepy_server.writes.allocate import finisher
from kinepy_server.writes.body import read_object
from kinepy_server.writes.create import actor_of, writer_of
from kinepy_server.writes.options import WriteOptions, write_options
from kinepy_server.writes.outcome import Decision, ForOneVersion, Write, change
from kinepy_server.writes.prepare import prepare_changed, prepare_new
from kinepy_server.writes.review import review_of


async def handle_update(context: Context, request: Request, resource: Resource) -> Response:
    """Replace an object, or one part of it through a subresource; 201 where PUT may create and did."""
    view, accepted = single_view(context, request, resource)
    options = write_options(request, "UpdateOptions")
    check_url_name(request.name)
    update = _Update(context, request, resource, options=options)
    outcome = await change(
        context,
        resource.key(request.namespace, request.name),
        ForOneVersion(update.decide) if update.names_version else update.decide,
        resource=resource,
        actor=actor_of(request, options),
        dry_run=options.dry_run,
        finish=finisher(context, resource, pretend=options.dry_run),
        review=review_of(context, request, resource, dry_run=options.dry_run),
        charge=await charge_of(context, resource, request.namespace, pretend=options.dry_run)
        if resource.create_on_update
        else None,
        before_create=partial(require_namespace, context, resource, request.namespace, name=request.name)
        if resource.create_on_update
        else None,
    )
    response = await respond(view.one(outcome.kv), accepted)
    if outcome.created:
        response.status = 201
    return response


class _Update:
    """One PUT. It decodes its body once, and again for each further try, since deciding uses the object up."""

    def __init__(
        self, context: Context, request: Request, resource: Resource, *, options: WriteOptions
    ) -> None:
        self._request, self._resource = request, resource
        self._identity = context.identity
        self._writer: Writer = writer_of(context, resource, options, subresource=request.subresource)
        self._read = partial(read_object, context, request, resource, validation=options.validation)
        self._object: JsonObject | None = self._decoded()
        self.names_version = bool(self._object["metadata"].get("resourceVersion"))
        """Whether it is for one version of the object alone."""

    def _decoded(self) -> JsonObject:
        obj = self._read()
        check_name(self._request, obj["metadata"])
        settle_namespace(self._request, self._resource, obj["metadata"])
        return obj

    def decide(self, kv: KeyValue | None) -> Decision:
        """UPD-1: does it exist, uid, resourceVersion, checks."""
        new, self._object = self._object or self._decoded(), None
        if kv is None:
            return self._create(new)
        old = decode(self._resource, kv)
        self._identity.check_write(self._request, self._resource, new, old=old)
        self._check_uid(new, old["metadata"]["uid"])
        check_version(self._resource, new["metadata"], kv)
        return prepare_changed(self._resource, new, old, writer=self._writer, warnings=self._request.warnings)

    def _create(self, new: JsonObject) -> Write:
        if not self._resource.create_on_update or self._request.subresource:
            raise not_found(self._resource, self._request.name)
        self._identity.check_create(self._request)
        self._identity.check_write(self._request, self._resource, new, old=None)
        self._check_uid(new, "")
        return Write(prepare_new(self._resource, new, self._writer, warnings=self._request.warnings))

    def _check_uid(self, new: JsonObject, stored: str) -> None:
        uid = new["metadata"].get("uid", "")
        if uid and uid != stored:
            raise uid_conflict(self._resource, self._request, wanted=uid, stored=stored)


def may_name_version(request: Request) -> bool:
    """Whether a body that is not understood yet may be for one version of the object alone."""
    return b"resourceVersion" in request.body


def uid_conflict(resource: Resource, request: Request, *, wanted: str, stored: str) -> StatusError:
    """409: the object is another one than the client means (UPD-5)."""
    key = resource.key(request.namespace, request.name).decode()
    why = (
        f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg:"
        f" Precondition failed: UID in precondition: {wanted}, UID in object meta: {stored}"
    )
    return conflict(resource, request.name, why)


def check_version(
    resource: Resource, metadata: JsonObject, kv: KeyValue, *, unconditional: bool = False
) -> None:
    """UPD-2, UPD-3: a resourceVersion must be the stored one; some types must have one, unless `unconditional`."""
    name, text = metadata["name"], metadata.get("resourceVersion", "")
    try:
        version = parse_revision(text) if text else 0
    except BadNumber as error:
        raise raw_error(str(error)) from None
    if version:
        if version != kv.mod_revision:
            raise modified(resource, name)
    elif not resource.unconditional_update and not unconditional:
        cause = Cause(
            "FieldValueInvalid",
            "Invalid value: 0: must be specified for an update",
            "metadata.resourceVersion",
        )
        raise invalid(resource.plural, resource.group, name, causes=[cause])
