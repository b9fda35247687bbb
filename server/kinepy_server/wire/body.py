"""From the body of a write to an object of the endpoint's type.

All refusals are the original's: bodies that cannot be read at all, bodies of another type, values of
wrong types, and, as the client asked, unknown and repeated fields.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kinepy_server.errors import StatusError, bad_request
from kinepy_server.resources.registry import Registry
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.schema.decode import PROBLEMS_MAX, DecodeError, Validation, decode
from kinepy_server.schema.duplicates import strict_problems
from kinepy_server.schema.go_json import kind_of
from kinepy_server.wire.custom_body import custom_object, decode_custom
from kinepy_server.wire.protobuf import ProtobufError, decode_message
from kinepy_server.wire.reading import HEAD_TYPE, Unreadable, read_body, shown

SCHEME = "pkg/runtime/scheme.go:110"
"""How the original calls the set of types that it knows."""


@dataclass(slots=True)
class Decoded:
    """An object as the server keeps it, and what the client is to be warned of."""

    object: JsonObject
    warnings: Sequence[str] = ()


def decode_body(
    resource: Resource, registry: Registry, body: bytes, *, content_type: str, validation: Validation
) -> Decoded:
    """The object in the body of a create or update, with apiVersion and kind.

    A body without them is taken to be of the endpoint's type. Raises 415, and 400 for everything else.
    """
    try:
        read = read_body(body, content_type, doubts=validation is not Validation.IGNORE)
        if resource.shape is not None:
            obj, found = decode_custom(resource, read, body, strict=validation is Validation.STRICT)
            return Decoded(obj, found if validation is Validation.WARN else ())
        api_version, kind = _type_of(read.value, resource)
    except Unreadable as error:
        text = (
            f"the object provided is unrecognized (must be of type {resource.kind}): {error} ({shown(body)})"
        )
        raise bad_request(text) from None
    try:
        check_type(resource, registry, api_version=api_version, kind=kind)
        value = read.value if read.raw is None else decode_message(resource.schema, read.raw)
        problems = strict_problems(resource.schema, body)[:PROBLEMS_MAX] if read.repeats else None
        obj, unknown = decode(resource.schema, value)
    except (DecodeError, ProtobufError) as error:
        raise _not_handled(resource, (api_version, kind), str(error)) from None
    obj["apiVersion"], obj["kind"] = resource.api_version, resource.kind
    found = [*read.repeated, *(unknown if problems is None else problems)]
    if found and validation is Validation.STRICT:
        text = ", ".join([*map(_yaml_problem, read.repeated), *found[len(read.repeated) :]])
        raise _not_handled(resource, (api_version, kind), f"strict decoding error: {text}")
    return Decoded(obj, found if validation is Validation.WARN else ())


def decode_value(resource: Resource, registry: Registry, value: Any) -> tuple[JsonObject, Sequence[str]]:
    """A patched value as an object of the endpoint's type, and its unknown fields.

    `value` may be changed. Raises DecodeError when it cannot be such an object.
    """
    if not isinstance(value, dict):
        raise DecodeError(f"json: cannot unmarshal {kind_of(value)} into Go value of type {HEAD_TYPE}")
    if resource.shape is not None:
        return value, custom_object(resource, value)
    try:
        api_version, kind = _type_of(value, resource)
    except Unreadable as error:
        raise DecodeError(str(error)) from None
    check_type(resource, registry, api_version=api_version, kind=kind)
    obj, unknown = decode(resource.schema, value)
    obj["apiVersion"], obj["kind"] = resource.api_version, resource.kind
    return obj, unknown


def decode_options(body: bytes, *, content_type: str, schema: str = "meta.v1.DeleteOptions") -> JsonObject:
    """The options in the body of a delete, and of whatever else is no object of a resource; `{}` when there is none.

    Unknown fields are ignored. Raises 415, and 400 for a body that cannot be such options.
    """
    if not body:
        return {}
    kind = schema.rpartition(".")[2]
    try:
        read = read_body(body, content_type, doubts=False)
        value = read.value if read.raw is None else decode_message(schema, read.raw)
        options: JsonObject = decode(schema, value)[0]
    except (Unreadable, DecodeError, ProtobufError) as error:
        raise bad_request(
            f"the object provided is unrecognized (must be of type {kind}): {error} ({shown(body)})"
        ) from None
    return options


def check_type(resource: Resource, registry: Registry, *, api_version: str, kind: str) -> None:
    """Refuse an object that says it is of another type: DecodeError, or 400 for another version of the same kind."""
    if kind == resource.kind and api_version == resource.api_version:
        return
    if not registry.knows_kind(api_version, kind):
        text = f'no kind "{kind}" is registered for version "{api_version}" in scheme "{SCHEME}"'
        raise DecodeError(text)
    version = api_version.rpartition("/")[2]
    other = registry.by_kind(api_version, kind)
    if kind == resource.kind and (other is None or other.internal_package == resource.internal_package):
        text = f"the API version in the data ({api_version}) does not match the expected API version"
        raise bad_request(f"{text} ({resource.api_version})")
    internal = f"{resource.internal_package}.{resource.kind}"
    raise DecodeError(f"converting ({version}.{kind}) to ({internal}): unknown conversion")


def _type_of(value: JsonObject, resource: Resource) -> tuple[str, str]:
    """apiVersion and kind of a value; what is left out is the endpoint's."""
    for field in ("apiVersion", "kind"):
        if not isinstance(value.get(field) or "", str):
            text = f"cannot unmarshal {kind_of(value[field])} into Go struct field .{field} of type string"
            raise Unreadable(f"couldn't get version/kind; json parse error: json: {text}")
    api_version = value.get("apiVersion") or resource.api_version
    if api_version.count("/") > 1:
        raise Unreadable(f"unexpected GroupVersion string: {api_version}")
    return api_version, value.get("kind") or resource.kind


def _not_handled(resource: Resource, named: tuple[str, str], why: str) -> StatusError:
    """The 400 for a body whose type is known, `named` by its apiVersion and kind."""
    version = named[0].rpartition("/")[2]
    return bad_request(f'{named[1]} in version "{version}" cannot be handled as a {resource.kind}: {why}')


def _yaml_problem(text: str) -> str:
    return f"error converting YAML to JSON: yaml: unmarshal errors:\n  {text}"
