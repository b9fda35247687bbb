"""Create (3.1)."""

from functools import partial

from kinepy import KeyValue, Revision
from kinepy.errors import KeyExists
from kinepy_server.admission import Admit, admission_of, charge_of
from kinepy_server.apply.managed_fields import Writer
from kinepy_server.context import Context
from kinepy_server.errors import StatusError, already_exists, generated_name_taken, raw_error
from kinepy_server.objects.conversion import StoredForm, converting, may_need, stored_form
from kinepy_server.objects.names import generated_name
from kinepy_server.objects.namespaces import is_terminating, require_namespace
from kinepy_server.objects.times import timestamp
from kinepy_server.read.shown import respond, single_view
from kinepy_server.request import Request
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.response import Response
from kinepy_server.schema.go_numbers import UINT64_MAX, whole_number
from kinepy_server.writes.address import settle_namespace
from kinepy_server.writes.allocate import finisher
from kinepy_server.writes.body import read_object
from kinepy_server.writes.guarded import create_guarded
from kinepy_server.writes.options import WriteOptions, write_options
from kinepy_server.writes.prepare import prepare_new
from kinepy_server.writes.review import Review, review_of
from kinepy_server.writes.versions import ServedVersions

GENERATED_NAME_TRIES = 8


async def handle_create(context: Context, request: Request, resource: Resource) -> Response:
    """Store a new object; 201 with the whole of it."""
    view, accepted = single_view(context, request, resource)
    options = write_options(request, "CreateOptions")
    obj = read_object(context, request, resource, validation=options.validation)
    if resource.sign is not None:
        resource.sign(obj, request.user)
    metadata = obj["metadata"]
    settle_namespace(request, resource, metadata)
    guard = await require_namespace(context, resource, request.namespace, name=metadata.get("name", ""))
    kv = await _create(context, request, resource, obj=obj, options=options, guard=guard)
    response = await respond(view.one(kv), accepted)
    response.status = 201
    return response


async def _create(
    context: Context,
    request: Request,
    resource: Resource,
    *,
    obj: JsonObject,
    options: WriteOptions,
    guard: KeyValue | None,
) -> KeyValue:
    metadata = obj["metadata"]
    writer = writer_of(context, resource, options, subresource="")
    base = "" if metadata.get("name") else metadata.get("generateName", "")
    if base:
        metadata["name"] = generated_name(base, context.random)
    context.identity.check_write(request, resource, obj, old=None)
    has_version = is_version_set(metadata.pop("resourceVersion", ""))
    admit = await admission_of(context, resource, obj)
    value = await _prepared(resource, obj, writer, warnings=request.warnings, admit=admit)
    review = review_of(context, request, resource, dry_run=options.dry_run)
    form = await _reviewed(resource, review, value)
    admitted = form.value
    finish = finisher(context, resource, pretend=options.dry_run)
    if finish is not None:
        form.value = await finish(form.value)
    charge = await charge_of(context, resource, request.namespace, pretend=options.dry_run)
    if charge is not None:
        await charge(form.value)
    if has_version:
        raise raw_error("resourceVersion should not be set on objects to be created")
    for remaining in reversed(range(GENERATED_NAME_TRIES)):
        key = resource.key(request.namespace, metadata["name"])
        try:
            if options.dry_run:
                kv = await _pretend(context, key, form.value)
            else:
                actor = actor_of(request, options)
                kv = await create_guarded(context, resource, key, value=form.value, actor=actor, guard=guard)
            form.keep(resource, kv)
            return kv
        except KeyExists as error:
            if not base or not remaining:
                raise _exists(resource, metadata["name"], error, generated=bool(base)) from None
        metadata["name"] = generated_name(base, context.random)
        # Nothing but the name is another: what admission has added stays, and stays nobody's.
        form = form.renamed(admitted, metadata["name"])
        form.value = await finish(form.value) if finish is not None else form.value
    raise AssertionError("the last try returns or raises")


async def _prepared(
    resource: Resource, obj: JsonObject, writer: Writer, *, warnings: list[str], admit: Admit | None
) -> bytes:
    """The value of a new object before its review."""
    if not may_need(resource):
        return prepare_new(resource, obj, writer, warnings=warnings, admit=admit)
    given = obj["metadata"].get("managedFields")

    async def attempt() -> bytes:
        # Another attempt must not find what the one before has noted.
        obj["metadata"]["managedFields"] = given
        return prepare_new(resource, obj, writer, warnings=warnings, admit=admit)

    return await converting(attempt)


async def _reviewed(resource: Resource, review: Review | None, value: bytes) -> StoredForm:
    """What to store, with what webhooks changed in it."""
    if review is not None:
        value = await converting(partial(review.created, value))
    return await stored_form(resource, value)


async def _pretend(context: Context, key: bytes, value: bytes) -> KeyValue:
    current = await context.store.get(key)
    if current is not None:
        raise KeyExists(key=key, current=current)
    return KeyValue(key, value, Revision(0), Revision(0), 0)


def _exists(resource: Resource, name: str, error: KeyExists, *, generated: bool) -> StatusError:
    if generated:
        return generated_name_taken(resource, name)
    return already_exists(resource, name, being_deleted=is_terminating(error.current))


def writer_of(context: Context, resource: Resource, options: WriteOptions, *, subresource: str) -> Writer:
    """Who writes, as managedFields tell it."""
    now = timestamp(context.clock.now_us())
    return Writer(options.manager, ServedVersions(context.registry, resource), subresource, now)


def actor_of(request: Request, options: WriteOptions) -> str:
    """Who writes, as the log keeps it: the user and the field manager."""
    return f"{request.user.name} {options.manager}"


def is_version_set(text: str) -> bool:
    """Whether a resourceVersion says anything. On create, one that is no number is ignored (WR-2)."""
    number = whole_number(text, high=UINT64_MAX) if text.isdecimal() else None
    return number is not None and number > 0
