"""From structural schemas to the types that rules see."""

import base64
import re
from collections.abc import Callable, Mapping
from typing import Any

from kinepy_server.cel.errors import EvaluationError
from kinepy_server.cel.parser import RESERVED
from kinepy_server.cel.types import BOOL, DOUBLE, DURATION, INT, STRING, TIMESTAMP, Field, Type
from kinepy_server.cel.values import MapList, SetList, date_of, duration_of, timestamp_of

Schema = Mapping[str, Any]
Adapt = Callable[[Any], Any]
REQUEST_BYTES_MAX = 3 * 1024 * 1024
_TEXT_MAX = REQUEST_BYTES_MAX - 2
_DATE_SIZE, _DATETIME_SIZE, _DURATION_SIZE = 12, 27, 32
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*", re.ASCII)
_KEYWORDS = RESERVED | {"true", "false", "null", "in"}
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_ESCAPED = re.compile(r"__|[./-]")


def escaped(name: str) -> str | None:
    """How rules write the name of a member; None for one that they cannot reach."""
    if name in _KEYWORDS:
        return f"__{name}__"
    text = _ESCAPED.sub(lambda match: _ESCAPES[match.group()], name)
    return text if _NAME.fullmatch(text) else None


def type_of_schema(schema: Schema, *, root: bool = False, path: str = "object") -> Type | None:
    """The type of the values of a schema; None where nothing is known of them."""
    if schema.get("x-kubernetes-int-or-string"):
        return Type("dyn", size_max=_TEXT_MAX)
    kind = schema.get("type", "object" if root else "")
    if kind == "array":
        return _list_type(schema, path)
    if kind == "object":
        return _object_type(schema, root=root, path=path)
    if kind == "string":
        return _string_type(schema)
    return _SIMPLE.get(kind)


def _double(value: Any) -> Any:
    return float(value) if type(value) is int else value


_SIMPLE: Mapping[str, Type] = {"boolean": BOOL, "integer": INT, "number": Type(DOUBLE.name, adapt=_double)}


def _text(adapt: Callable[[str], Any]) -> Adapt:
    """For texts alone: what was stored before may be anything."""

    def adapted(value: Any) -> Any:
        if type(value) is not str:
            raise _unfit("string")
        return adapt(value)

    return adapted


def _unfit(wanted: str) -> EvaluationError:
    return EvaluationError(f"invalid data, expected {wanted}")


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise EvaluationError("invalid base64") from None


def _string_type(schema: Schema) -> Type:
    form = schema.get("format", "")
    limit = schema.get("maxLength")
    if form == "byte":
        return Type("bytes", bytes_min=2, size_max=_TEXT_MAX if limit is None else limit, adapt=_text(_bytes))
    if form == "duration":
        return Type(DURATION.name, bytes_min=4, size_max=_DURATION_SIZE, adapt=_text(duration_of))
    if form == "date":
        return Type(TIMESTAMP.name, bytes_min=_DATE_SIZE, size_max=_DATE_SIZE, adapt=_text(date_of))
    if form == "date-time":
        return Type(TIMESTAMP.name, bytes_min=21, size_max=_DATETIME_SIZE, adapt=_text(timestamp_of))
    if limit is not None:
        size = max(0, limit) * 4
    elif schema.get("enum"):
        size = max(len(str(value)) for value in schema["enum"])
    else:
        size = _TEXT_MAX
    return Type("string", bytes_min=2, size_max=size)


def _list_type(schema: Schema, path: str) -> Type | None:
    items = schema.get("items") or {}
    element = type_of_schema(
        items, root=bool(items.get("x-kubernetes-embedded-resource")), path=f"{path}.@idx"
    )
    if element is None:
        return None
    limit = schema.get("maxItems")
    size = (REQUEST_BYTES_MAX - 2) // (element.bytes_min + 1) if limit is None else max(0, limit)
    return Type("list", (element,), bytes_min=2, size_max=size, adapt=_list_adapter(schema, element))


def _list_adapter(schema: Schema, element: Type) -> Adapt | None:
    list_type, adapt = schema.get("x-kubernetes-list-type", "atomic"), element.adapt
    if list_type == "map":
        keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
        return lambda value: MapList(_array(value), keys)
    if list_type == "set":
        return lambda value: SetList(_array(value) if adapt is None else map(adapt, _array(value)))
    if adapt is None:
        return None
    return lambda value: [None if item is None else adapt(item) for item in _array(value)]


def _array(value: Any) -> list[Any]:
    if type(value) is not list:
        raise _unfit("an array")
    return value


def _object_type(schema: Schema, *, root: bool, path: str) -> Type | None:
    additional = schema.get("additionalProperties")
    if isinstance(additional, Mapping) and not root:
        return _map_type(schema, additional, path)
    properties = {**(schema.get("properties") or {}), **(_ROOT_PROPERTIES if root else {})}
    required = schema.get("required") or ()
    fields, bytes_min = {}, 2
    for key, member in properties.items():
        kind = type_of_schema(
            member, root=bool(member.get("x-kubernetes-embedded-resource")), path=f"{path}.{key}"
        )
        name = escaped(key)
        if kind is None or name is None:
            continue
        fields[name] = Field(key, kind)
        if key in required and "default" not in member:
            bytes_min += len(key) + kind.bytes_min + 4
    return Type(path, fields=fields, bytes_min=bytes_min)


_ROOT_PROPERTIES: Schema = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}},
    },
}


def _map_type(schema: Schema, additional: Schema, path: str) -> Type | None:
    value = type_of_schema(
        additional, root=bool(additional.get("x-kubernetes-embedded-resource")), path=f"{path}.@elem"
    )
    if value is None:
        return None
    limit = schema.get("maxProperties")
    size = (REQUEST_BYTES_MAX - 2) // (value.bytes_min + 6) if limit is None else max(0, limit)
    adapt = value.adapt
    convert: Adapt | None = None
    if adapt is not None:
        convert = lambda found: {key: adapt(member) for key, member in _map(found).items()}  # noqa: E731
    return Type("map", (STRING, value), bytes_min=2, size_max=size, adapt=convert)


def _map(value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        raise _unfit("a map")
    return value
