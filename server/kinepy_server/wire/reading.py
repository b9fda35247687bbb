"""Reading a body as far as that is possible without knowing its type."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kinepy_server.negotiate import body_type
from kinepy_server.resources.resource import JsonObject
from kinepy_server.schema.duplicates import may_repeat
from kinepy_server.schema.go_json import kind_of
from kinepy_server.wire.json_text import parse_json
from kinepy_server.wire.protobuf import Envelope, ProtobufError, open_envelope
from kinepy_server.wire.yaml_text import YamlError, parse_yaml

SHOWN_BYTES = 30
"""So much of an unreadable body is shown to its sender."""
HEAD_TYPE = (
    r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
)


@dataclass(slots=True)
class Read:
    """A body as far as it can be read without knowing its type; `repeats` says that it may hold a key twice."""

    value: JsonObject
    raw: bytes | None = None
    repeated: Sequence[str] = ()
    repeats: bool = False


class Unreadable(Exception):
    """Not even the kind of the body could be read."""


def shown(body: bytes) -> str:
    """The beginning of a body as a message shows it: objects as they are, anything else in hexadecimal."""
    if not body:
        return "<empty>"
    part = body[:SHOWN_BYTES]
    text = part.decode("utf-8", "replace") if body.startswith(b"{") else part.hex()
    return f"{text} ..." if len(body) > SHOWN_BYTES else text


def read_body(body: bytes, content_type: str, *, doubts: bool) -> Read:
    """Read a body; `doubts`: whether the client wants to know of repeated keys. Raises Unreadable, and 415."""
    match body_type(content_type):
        case "json":
            value = _json(body)
            return Read(value, repeats=doubts and may_repeat(body, value))
        case "yaml":
            try:
                value, repeated = parse_yaml(body)
            except YamlError as error:
                raise Unreadable(str(error)) from None
            return Read(_object(value), repeated=repeated if doubts else ())
        case "protobuf":
            envelope = _envelope(body)
            return Read({"apiVersion": envelope.api_version, "kind": envelope.kind}, raw=envelope.raw)


def _json(body: bytes) -> JsonObject:
    try:
        value = parse_json(body, endless_numbers=True)
    except ValueError as error:
        raise Unreadable(f"couldn't get version/kind; json parse error: {error}") from None
    return _object(value)


def _object(value: Any) -> JsonObject:
    if value is None:
        return {}
    if not isinstance(value, dict):
        text = f"json: cannot unmarshal {kind_of(value)} into Go value of type {HEAD_TYPE}"
        raise Unreadable(f"couldn't get version/kind; json parse error: {text}")
    return value


def _envelope(body: bytes) -> Envelope:
    try:
        return open_envelope(body)
    except ProtobufError as error:
        raise Unreadable(str(error)) from None
