"""From the body of a write to a custom object: type, metadata, and what its schema does not name (CRD-11, CRD-17)."""

import re
from collections.abc import Sequence
from typing import Any

import orjson

from kinepy_server.errors import Cause, StatusError, bad_request, invalid
from kinepy_server.negotiate import MEDIA_TYPES, unsupported_body
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.resources.strategies.keys import quoted
from kinepy_server.schema.compile import Mismatch, compiled
from kinepy_server.schema.decode import PROBLEMS_MAX, DecodeError
from kinepy_server.schema.duplicates import repeated_fields
from kinepy_server.schema.go_json import kind_of
from kinepy_server.wire.json_text import float_of
from kinepy_server.wire.reading import Read, Unreadable

_METADATA = "meta.v1.ObjectMeta"
_INT64 = 2**63
_FLOAT = re.compile(rb"[:\[,]\s*-?\d+[.eE]|\d{19}")
"""What a body holds when its numbers may need another look; texts can look so too."""


def decode_custom(
    resource: Resource, read: Read, body: bytes, *, strict: bool
) -> tuple[JsonObject, Sequence[str]]:
    """The object of a body, and what is to be told of its fields. Raises Unreadable, 400, 415 and 422."""
    if read.raw is not None:
        raise unsupported_body(MEDIA_TYPES)
    obj = read.value
    if not obj.get("kind"):
        text = body.decode("utf-8", "replace") if body.lstrip()[:1] == b"{" else orjson.dumps(obj).decode()
        raise Unreadable(f"Object 'Kind' is missing in '{text}'")
    try:
        unknown = custom_object(resource, obj, numbers=not body.startswith(b"{") or bool(_FLOAT.search(body)))
    except DecodeError as error:
        raise _not_handled(resource, str(error)) from None
    repeated = repeated_fields(body)[:PROBLEMS_MAX] if read.repeats else ()
    problems = [*read.repeated, *repeated, *unknown]
    if problems and strict:
        yaml = (f"error converting YAML to JSON: yaml: unmarshal errors:\n  {text}" for text in read.repeated)
        raise _not_handled(resource, f"strict decoding error: {', '.join([*yaml, *repeated, *unknown])}")
    return obj, problems


def custom_object(resource: Resource, obj: JsonObject, *, numbers: bool = True) -> Sequence[str]:
    """Make a custom object of a value, in place; what is to be told of unknown fields.

    Raises DecodeError for metadata that cannot be such, 400 and 422 for an object of another type. `numbers` may
    need another look.
    """
    assert resource.shape is not None
    _check_type(resource, obj)
    problems = _settle_metadata(obj)
    if numbers:
        settle_numbers(obj)
    return [*problems, *resource.shape.prune(obj)][:PROBLEMS_MAX]


def _check_type(resource: Resource, obj: JsonObject) -> None:
    api_version, kind = obj.get("apiVersion") or "", obj.get("kind") or ""
    if not isinstance(api_version, str) or not isinstance(kind, str):
        field, value = ("kind", kind) if isinstance(api_version, str) else ("apiVersion", api_version)
        text = f"json: cannot unmarshal {kind_of(value)} into Go struct field .{field} of type string"
        raise Unreadable(f"couldn't get version/kind; json parse error: {text}")
    if api_version != resource.api_version:
        text = f"the API version in the data ({api_version}) does not match the expected API version"
        raise bad_request(f"{text} ({resource.api_version})")
    if kind != resource.kind:
        metadata = obj.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else ""
        cause = Cause("FieldValueInvalid", f"Invalid value: {quoted(kind)}: must be {resource.kind}", "kind")
        raise invalid(kind, resource.group, name if isinstance(name, str) else "", causes=[cause])


def _settle_metadata(obj: JsonObject) -> list[str]:
    problems: list[str] = []
    obj["metadata"] = coerced_metadata(obj.get("metadata"), (None, "metadata"), problems)
    return problems


def coerced_metadata(value: Any, path: Any, problems: list[str]) -> JsonObject:
    """Metadata as typed objects have it. Raises DecodeError."""
    try:
        found: JsonObject = compiled(_METADATA)({} if value is None else value, path, problems)
    except Mismatch as mismatch:
        raise DecodeError(str(mismatch)) from None
    except ValueError as error:
        raise DecodeError(str(error)) from None
    return found


def settle_numbers(value: Any) -> None:
    """Whole floats become integers, and integers that are too large floats, in place. Raises DecodeError."""
    items: Any = value.items() if type(value) is dict else enumerate(value) if type(value) is list else ()
    for place, member in items:
        kind = type(member)
        if kind is float:
            if member.is_integer() and -_INT64 <= member < _INT64:
                value[place] = int(member)
        elif kind is int:
            if not -_INT64 <= member < _INT64:
                try:
                    value[place] = float_of(member)
                except ValueError as error:
                    raise DecodeError(str(error)) from None
        elif kind is dict or kind is list:
            settle_numbers(member)


def _not_handled(resource: Resource, why: str) -> StatusError:
    text = f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {why}'
    return bad_request(text)
