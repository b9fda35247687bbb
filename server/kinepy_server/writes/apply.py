"""Server-side apply (3.4): a configuration becomes part of an object, which is made if it does not exist."""

from typing import Any

import orjson

from kinepy import KeyValue
from kinepy_server.admission import Admit, admission_of, charge_of
from kinepy_server.apply.apply import Applied
from kinepy_server.apply.conflicts import ApplyConflict
from kinepy_server.apply.last_applied import apply_as
from kinepy_server.apply.typed import NotTyped, check_typed
from kinepy_server.context import Context
from kinepy_server.errors import StatusError, bad_request, conflict, not_found, raw_error
from kinepy_server.objects.codec import decode
from kinepy_server.objects.namespaces import require_namespace
from kinepy_server.read.shown import respond, single_view
from kinepy_server.request import Request
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.response import Response
from kinepy_server.schema.decode import DecodeError, Validation
from kinepy_server.schema.duplicates import may_repeat
from kinepy_server.schema.go_json import kind_of
from kinepy_server.wire.body import decode_value
from kinepy_server.wire.json_text import parse_json
from kinepy_server.wire.yaml_text import YamlError, parse_yaml
from kinepy_server.writes.address import check_name, check_url_name, settle_namespace
from kinepy_server.writes.allocate import finisher
from kinepy_server.writes.create import actor_of, writer_of
from kinepy_server.writes.options import WriteOptions, write_options
from kinepy_server.writes.outcome import Decision, ForOneVersion, Write, change
from kinepy_server.writes.prepare import prepare_changed, prepare_new
from kinepy_server.writes.review import review_of
from kinepy_server.writes.update import check_version, may_name_version

APPLY_PATCH = "application/apply-patch+yaml"
_OF_EVERY_ENDPOINT = frozenset(("apiVersion", "kind", "metadata"))


async def handle_apply(context: Context, request: Request, resource: Resource) -> Response:
    """Apply a configuration; 201 when it made the object."""
    view, accepted = single_view(context, request, resource)
    options = write_options(request, "PatchOptions", apply=True)
    check_url_name(request.name)
    applier = Applier(context, request, resource, options=options)
    outcome = await change(
        context,
        resource.key(request.namespace, request.name),
        ForOneVersion(applier.decide) if may_name_version(request) else applier.decide,
        resource=resource,
        actor=actor_of(request, options),
        dry_run=options.dry_run,
        finish=finisher(context, resource, pretend=options.dry_run),
        review=review_of(context, request, resource, dry_run=options.dry_run),
        charge=await charge_of(context, resource, request.namespace, pretend=options.dry_run),
        before_create=applier.before_create,
    )
    response = await respond(view.one(outcome.kv), accepted)
    if outcome.created:
        response.status = 201
    return response


class Applier:
    """One apply patch."""

    def __init__(
        self, context: Context, request: Request, resource: Resource, *, options: WriteOptions
    ) -> None:
        self._context, self._request, self._resource, self._options = context, request, resource, options
        self._writer = writer_of(context, resource, options, subresource=request.subresource)
        self._config: bytes | None = None
        self._admit: Admit | None = None
        self._repeated: list[str] = []
        self._may_create = False

    async def before_create(self) -> KeyValue | None:
        """What is wrong with the configuration is told before what is wrong with its namespace."""
        new, _ = self.apply(None)
        request = self._request
        self._admit = await admission_of(self._context, self._resource, new)
        guard = await require_namespace(self._context, self._resource, request.namespace, name=request.name)
        self._may_create = await self._context.identity.asked_create(request)
        return guard

    def decide(self, kv: KeyValue | None) -> Decision:
        """The object with the configuration in it."""
        request, resource = self._request, self._resource
        new, applied = self.apply(kv)
        metadata = new["metadata"]
        old = None if kv is None else decode(resource, kv)
        self._context.identity.check_write(request, resource, new, old=old)
        if kv is None or old is None:
            if not self._may_create:
                self._context.identity.check_create(request)
            metadata.pop("resourceVersion", None)
            entries = applied.entries
            warnings = request.warnings
            value = prepare_new(
                resource, new, self._writer, warnings=warnings, applied=entries, admit=self._admit
            )
            return Write(value)
        check_version(resource, metadata, kv)
        return prepare_changed(
            resource,
            new,
            old,
            writer=self._writer,
            warnings=request.warnings,
            applied=applied.entries,
        )

    def apply(self, kv: KeyValue | None) -> tuple[JsonObject, Applied]:
        """The object with the configuration in it, decoded, and who owns its fields."""
        request, resource = self._request, self._resource
        if kv is None and request.subresource:
            raise not_found(resource, request.name)
        live = orjson.loads(orjson.dumps(self._writer.versions.empty)) if kv is None else decode(resource, kv)
        config = self._read()
        try:
            applied = apply_as(
                live, config, writer=self._writer, force=self._options.force, ignored=self.ignored(config)
            )
        except ApplyConflict as error:
            raise _conflict(error) from None
        self._tell_repeated()
        new = live if applied.object is None else self._decoded(applied.object, config)
        metadata = new["metadata"]
        if kv is None and metadata.get("uid"):
            why = f"uid mismatch: the provided object specified uid {metadata['uid']}, and no existing object was found"
            raise conflict(resource, request.name, why)
        settle_namespace(request, resource, metadata)
        check_name(request, metadata)
        return new, applied

    def ignored(self, config: JsonObject) -> frozenset[str]:
        """The members that this endpoint does not write."""
        if not self._request.subresource:
            return frozenset(("status",)) if "status" in self._resource.subresources else frozenset()
        known = self._writer.versions.type.properties.keys() | config.keys()
        return frozenset(known - _OF_EVERY_ENDPOINT - {self._request.subresource})

    def _read(self) -> JsonObject:
        """The configuration, checked; each call gives one of its own."""
        if self._config is None:
            config, self._repeated = _parsed(self._request.body)
            self._check(config)
            self._config = orjson.dumps(config)
        found: JsonObject = orjson.loads(self._config)
        return found

    def _check(self, config: JsonObject) -> None:
        resource = self._resource
        api_version, kind = _text(config.get("apiVersion")), _text(config.get("kind"))
        if (api_version, kind) != (resource.api_version, resource.kind):
            raise bad_request(f"invalid object type: {_kind_text(api_version, kind)}")
        metadata = config.get("metadata")
        if isinstance(metadata, dict) and isinstance(metadata.get("managedFields"), list):
            raise bad_request("metadata.managedFields must be nil")
        try:
            check_typed(self._writer.versions.type, config)
        except NotTyped as error:
            text = f"failed to create typed patch object ({_named(config)}): {error}"
            raise raw_error(text) from None

    def _tell_repeated(self) -> None:
        repeated, validation = self._repeated, self._options.validation
        if repeated and validation is Validation.STRICT:
            lines = "\n  ".join(repeated)
            why = f"error converting YAML to JSON: yaml: unmarshal errors:\n  {lines}"
            raise bad_request(f"error strict decoding YAML: {why}")
        if validation is Validation.WARN:
            self._request.warnings.extend(repeated)

    def _decoded(self, value: JsonObject, config: JsonObject) -> JsonObject:
        try:
            return decode_value(self._resource, self._context.registry, value)[0]
        except DecodeError as error:
            named, version = _named(config), self._resource.api_version
            text = f"failed to convert new object ({named}) to proper version ({version}): {error}"
            raise raw_error(text) from None


def _parsed(body: bytes) -> tuple[JsonObject, list[str]]:
    """The configuration and its repeated keys. JSON, which is YAML too, is read as such: that is faster."""
    value: Any = None
    if body.lstrip()[:1] == b"{":
        try:
            value = parse_json(body)
        except ValueError:
            value = None
    repeated: list[str] = []
    if value is None or may_repeat(body, value):
        try:
            value, repeated = parse_yaml(body)
        except YamlError as error:
            raise bad_request(f"error decoding YAML: {error}") from None
    if value is None:
        return {}, []
    if not isinstance(value, dict):
        why = f"json: cannot unmarshal {kind_of(value)} into Go value of type map[string]interface {{}}"
        raise bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {why}")
    return value, repeated


def _conflict(error: ApplyConflict) -> StatusError:
    causes = [
        {"reason": "FieldManagerConflict", "message": message, "field": field}
        for message, field in error.causes
    ]
    return StatusError(409, "Conflict", str(error), details={"causes": causes})


def _named(config: JsonObject) -> str:
    metadata = config.get("metadata")
    parts = metadata if isinstance(metadata, dict) else {}
    kind = _kind_text(_text(config.get("apiVersion")), _text(config.get("kind")))
    return f"{_text(parts.get('namespace'))}/{_text(parts.get('name'))}; {kind}"


def _kind_text(api_version: str, kind: str) -> str:
    group, _, version = api_version.rpartition("/")
    if "/" in group:
        group, version = "", ""
    return f"{group}/{version}, Kind={kind}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
