"""A Swagger document as a message of `openapi.v2`, as the clients that ask for protobuf read it.

Only what `openapi_v2_document` writes is known. Values of any type, such as extensions, travel as text.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeAlias

import orjson

from kinepy_server.wire.protobuf_wire import BYTES, VARINT, chunk, tag_of, varint

Json: TypeAlias = Mapping[str, Any]
Encode: TypeAlias = Callable[[Any], bytes]
Fields: TypeAlias = Mapping[str, tuple[int, Encode]]
"""JSON name -> number, and the encoder of the content, or of the whole field when the number is 0."""

EXTENSION = "x-"


def document_message(document: Json) -> bytes:
    """The whole document, whose paths and definitions are given as lists of their messages."""
    parts: list[bytes] = []
    for name, (number, encode) in _DOCUMENT.items():
        if name in _IN_PIECES:
            pieces = document[name]
            parts += [tag_of(number, BYTES), varint(sum(map(len, pieces))), *pieces]
        else:
            content = encode(document[name])
            parts.append(_field(number, content) if number else content)
    return b"".join(parts)


def path_message(path: str, item: Json) -> bytes:
    """A path of the document."""
    return _field(2, _named(path, _message(_PATH_ITEM, item)))


def definition_message(name: str, schema: Json) -> bytes:
    """A definition of the document."""
    return _field(1, _named(name, _schema(schema)))


def _field(number: int, content: bytes) -> bytes:
    return chunk(tag_of(number, BYTES), content)


def _message(fields: Fields, value: Json, *, extensions: int = 0) -> bytes:
    """A message by its table, in the order of numbers; extensions are repeated in a field of their own."""
    parts = []
    for name, (number, encode) in fields.items():
        if name in value:
            content = encode(value[name])
            parts.append(_field(number, content) if number else content)
    if extensions:
        parts += [
            _field(extensions, _named(name, _any(inner)))
            for name, inner in value.items()
            if name.startswith(EXTENSION)
        ]
    return b"".join(parts)


def _text(value: str) -> bytes:
    return value.encode()


def _any(value: Any) -> bytes:
    """A value of any type, as text that is JSON and so YAML."""
    return _field(2, orjson.dumps(value) + b"\n")


def _named(name: str, content: bytes) -> bytes:
    return _field(1, name.encode()) + _field(2, content)


def _repeated(number: int, encode: Encode) -> tuple[int, Encode]:
    return 0, lambda values: b"".join([_field(number, encode(value)) for value in values])


def _flag(number: int) -> tuple[int, Encode]:
    return 0, lambda value: tag_of(number, VARINT) + b"\x01" if value else b""


def _map(number: int, encode: Encode) -> Encode:
    """The content of a message that holds named values."""
    return lambda values: b"".join(
        [_field(number, _named(name, encode(value))) for name, value in values.items()]
    )


def _schema(value: Json) -> bytes:
    return _message(_SCHEMA, value, extensions=31)


def _types(value: str) -> bytes:
    return _field(1, value.encode())


def _inner(value: Json | bool) -> bytes:
    """A schema as an item of a list or of a map; of a map also whether there may be any."""
    if isinstance(value, bool):
        return tag_of(2, VARINT) + bytes((value,))
    return _field(1, _schema(value))


_SCHEMA: Fields = {
    "$ref": (1, _text),
    "format": (2, _text),
    "description": (4, _text),
    "default": (5, _any),
    "required": _repeated(19, _text),
    "enum": _repeated(20, _any),
    "additionalProperties": (21, _inner),
    "type": (22, _types),
    "items": (23, _inner),
    "properties": (25, _map(1, _schema)),
}

_BODY: Fields = {
    "description": (1, _text),
    "name": (2, _text),
    "in": (3, _text),
    "required": _flag(4),
    "schema": (5, _schema),
}
_QUERY: Fields = {
    "required": _flag(1),
    "in": (2, _text),
    "description": (3, _text),
    "name": (4, _text),
    "type": (6, _text),
    "uniqueItems": _flag(20),
}
_PATH: Fields = {
    "required": _flag(1),
    "in": (2, _text),
    "description": (3, _text),
    "name": (4, _text),
    "type": (5, _text),
    "uniqueItems": _flag(19),
}
_PLACES: Mapping[str, tuple[int, Fields]] = {"query": (3, _QUERY), "path": (4, _PATH)}


def _parameter(value: Json) -> bytes:
    """A parameter: of the body, or one of the kinds that are none."""
    if value["in"] == "body":
        return _field(1, _field(1, _message(_BODY, value)))
    number, fields = _PLACES[value["in"]]
    return _field(1, _field(2, _field(number, _message(fields, value))))


_RESPONSE: Fields = {"description": (1, _text), "schema": (2, _inner)}


def _response(value: Json) -> bytes:
    return _field(1, _message(_RESPONSE, value))


_OPERATION: Fields = {
    "tags": _repeated(1, _text),
    "description": (3, _text),
    "operationId": (5, _text),
    "produces": _repeated(6, _text),
    "consumes": _repeated(7, _text),
    "parameters": _repeated(8, _parameter),
    "responses": (9, _map(1, _response)),
    "schemes": _repeated(10, _text),
}
_operation: Encode = partial(_message, _OPERATION, extensions=13)
_PATH_ITEM: Fields = {
    "get": (2, _operation),
    "put": (3, _operation),
    "post": (4, _operation),
    "delete": (5, _operation),
    "patch": (8, _operation),
    "parameters": _repeated(9, _parameter),
}
_INFO: Fields = {"title": (1, _text), "version": (2, _text)}
_API_KEY: Fields = {"type": (1, _text), "name": (2, _text), "in": (3, _text), "description": (4, _text)}


def _security(value: Mapping[str, Iterable[str]]) -> bytes:
    scopes: Encode = lambda names: b"".join([_field(1, name.encode()) for name in names])  # noqa: E731
    return _map(1, scopes)(value)


_DOCUMENT: Fields = {
    "swagger": (1, _text),
    "info": (2, partial(_message, _INFO)),
    "paths": (8, b"".join),
    "definitions": (9, b"".join),
    "security": _repeated(12, _security),
    "securityDefinitions": (13, _map(1, lambda value: _field(2, _message(_API_KEY, value)))),
}
_IN_PIECES = ("paths", "definitions")
"""So large that they are put together once only."""
