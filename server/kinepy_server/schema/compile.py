"""From a type to the function that decodes it.

A decoder takes a value, the path to it (for messages only: a chain of parent and name, so that going down
costs one tuple) and the list that collects unknown fields. It may change the value in place.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

import orjson

from kinepy_server.schema.go_json import kind_of
from kinepy_server.schema.quantity import MILLI, NANO, canonical
from kinepy_server.schema.scalars import base64_text
from kinepy_server.schema.times import time_text
from kinepy_server.schema.types import Kind, Property, Type, type_named

Path: TypeAlias = tuple[Any, str | int] | None
Decoder: TypeAlias = Callable[[Any, Path, list[str]], Any]

_NEVER_EMPTY = (Kind.OBJECT, Kind.INT_OR_STRING, Kind.ANY)
INTEGER_BOUNDS = {"int32": 2**31, "int64": 2**63, "": 2**63}
_NOTHING: Any = object()


class Mismatch(Exception):
    """A value of another JSON type than its field's. On its way up it learns where it happened."""

    def __init__(self, found: str, go_type: str) -> None:
        super().__init__()
        self.found, self.go_type = found, go_type
        self.struct = ""
        self.fields: list[str] = []

    def within(self, struct: str, name: str) -> None:
        """The mismatch is in the field `name` of a struct type."""
        self.struct = self.struct or struct
        self.fields.insert(0, name)

    def __str__(self) -> str:
        where = f"Go struct field {self.struct}.{'.'.join(self.fields)}" if self.struct else "Go value"
        return f"json: cannot unmarshal {self.found} into {where} of type {self.go_type}"


def path_text(path: Path) -> str:
    """How messages write a path: `spec.items[0].name`."""
    parts: list[str] = []
    while path is not None:
        path, name = path
        parts.append(f"[{name}]" if isinstance(name, int) else f".{name}")
    return "".join(reversed(parts)).removeprefix(".")


@cache
def compiled(schema: str) -> Decoder:
    """The decoder of a schema name."""
    return decoder_of(type_named(schema))


def decoder_of(of: Type) -> Decoder:
    """The decoder of a type."""
    return _FACTORIES[of.kind](of)


def zero_of(of: Type) -> Any:
    """The zero value of a type that is no pointer, as the encoder shows it; a new one each time."""
    match of.kind:
        case Kind.OBJECT:
            return _lazy(of)({}, None, [])
        case Kind.STRING | Kind.BYTES:
            return ""
        case Kind.INTEGER | Kind.NUMBER | Kind.INT_OR_STRING:
            return 0
        case Kind.BOOLEAN:
            return False
        case Kind.QUANTITY:
            return "0"
        case _:
            return None


def _lazy(of: Type) -> Decoder:
    """The decoder of an object type, compiled on first use: types may contain themselves."""
    return compiled(of.name) if of.name else decoder_of(of)


def _shown_when_absent(prop: Property) -> bool:
    """Whether the encoder shows the field even when nothing set it."""
    if prop.pointer or prop.omit_zero:
        return not prop.omit_empty and not prop.omit_zero
    struct = prop.type.kind in (Kind.OBJECT, Kind.TIME, Kind.MICRO_TIME, Kind.INT_OR_STRING, Kind.QUANTITY)
    return struct or not prop.omit_empty


def _hidden_when_empty(prop: Property) -> bool:
    """Whether the encoder leaves the field out, or shows null, when it holds the zero value."""
    # An empty list or map does not survive storing: where it must be shown, it is null.
    if prop.omit_zero or prop.type.kind in (Kind.LIST, Kind.MAP):
        return True
    return prop.omit_empty and not prop.pointer and prop.type.kind not in _NEVER_EMPTY


def _absent_value(prop: Property) -> Callable[[], Any]:
    return (lambda: None) if prop.pointer else (lambda: zero_of(prop.type))


def _object(of: Type) -> Decoder:
    go, struct = of.go, of.name.rpartition(".")[2]
    keep = _keeper(of)
    texts = frozenset(name for name, prop in of.properties.items() if prop.type.kind is Kind.STRING)
    filled = tuple(
        (name, _absent_value(prop)) for name, prop in of.properties.items() if _shown_when_absent(prop)
    )

    def decode(value: Any, path: Path, problems: list[str]) -> Any:
        if type(value) is not dict:
            raise Mismatch(kind_of(value), go)
        dropped = []
        name = ""
        try:
            for name, member in value.items():
                if type(member) is str and member and name in texts:
                    continue
                decoded = keep(member, (path, name), problems)
                if decoded is _NOTHING:
                    dropped.append(name)
                elif decoded is not member:
                    value[name] = decoded
        except Mismatch as mismatch:
            mismatch.within(struct, name)
            raise
        for name in dropped:
            del value[name]
        if filled:
            _fill(value, filled)
        return value

    return decode


def _fill(value: dict[str, Any], filled: Sequence[tuple[str, Callable[[], Any]]]) -> None:
    for name, absent in filled:
        if name not in value:
            value[name] = absent()


def _keeper(of: Type) -> Callable[[Any, tuple[Any, str], list[str]], Any]:
    """What becomes of a member: its decoded value, or _NOTHING when it is unknown, null or not shown."""
    known = {name: (_member(prop.type), _hidden_when_empty(prop)) for name, prop in of.properties.items()}

    def keep(member: Any, path: tuple[Any, str], problems: list[str]) -> Any:
        found = known.get(path[1])
        if found is None:
            problems.append(f'unknown field "{path_text(path)}"')
            return _NOTHING
        if member is None:
            return _NOTHING
        decoder, hidden = found
        decoded = decoder(member, path, problems)
        return _NOTHING if decoded is None or (hidden and not decoded) else decoded

    return keep


def _member(of: Type) -> Decoder:
    if of.kind is not Kind.OBJECT:
        return decoder_of(of)
    found: list[Decoder] = []

    def decode(value: Any, path: Path, problems: list[str]) -> Any:
        if not found:
            found.append(_lazy(of))
        return found[0](value, path, problems)

    return decode


def _map(of: Type) -> Decoder:
    items, go = _items(of), of.go
    of_texts = items.kind is Kind.STRING
    # Amounts of resources are counted in thousandths at the finest.
    element = _amount(MILLI) if items.kind is Kind.QUANTITY else _member(items)

    def decode(value: Any, path: Path, problems: list[str]) -> Any:
        if type(value) is not dict:
            raise Mismatch(kind_of(value), go)
        for key, member in value.items():
            if of_texts and type(member) is str:
                continue
            if member is None:
                value[key] = zero_of(items)
            else:
                decoded = element(member, (path, key), problems)
                if decoded is not member:
                    value[key] = decoded
        return value

    return decode


def _list(of: Type) -> Decoder:
    items, go = _items(of), of.go
    element, of_texts = _member(items), items.kind is Kind.STRING

    def decode(value: Any, path: Path, problems: list[str]) -> Any:
        if type(value) is not list:
            raise Mismatch(kind_of(value), go)
        for index, member in enumerate(value):
            if of_texts and type(member) is str:
                continue
            if member is None:
                value[index] = zero_of(items)
            else:
                decoded = element(member, (path, index), problems)
                if decoded is not member:
                    value[index] = decoded
        return value

    return decode


def _items(of: Type) -> Type:
    assert of.items is not None
    return of.items


def _exact(*python: type) -> Callable[[Type], Decoder]:
    """The factory of decoders that take values of certain Python types as they are."""

    def factory(of: Type) -> Decoder:
        go = of.go

        def decode(value: Any, path: Path, problems: list[str]) -> Any:
            if type(value) not in python:
                raise Mismatch(kind_of(value), go)
            return value

        return decode

    return factory


def _integer(of: Type) -> Decoder:
    go, bound = of.go, INTEGER_BOUNDS[of.format]

    def decode(value: Any, path: Path, problems: list[str]) -> Any:
        if type(value) is int:
            if -bound <= value < bound:
                return value
        elif type(value) is not float:
            raise Mismatch(kind_of(value), go)
        raise Mismatch(f"number {value}", go)

    return decode


def _text(value: Any) -> str:
    """A text that a type reads by itself: it does not know in which field it is."""
    if type(value) is not str:
        raise ValueError(f"json: cannot unmarshal {kind_of(value)} into Go value of type string")
    return value


def _time(of: Type) -> Decoder:
    micro = of.kind is Kind.MICRO_TIME
    return lambda value, path, problems: time_text(_text(value), micro=micro)


def _any(of: Type) -> Decoder:
    if of.name in _SCHEMA_OR:
        return _schema_or(of, _SCHEMA_OR[of.name])
    return _json_value


def _json_value(value: Any, path: Path, problems: list[str]) -> Any:
    """Any JSON. How deep it is was checked when it was parsed; there may be numbers in it for which no float is large
    enough."""
    try:
        orjson.dumps(value)
    except TypeError:
        raise ValueError("json: cannot unmarshal number into Go value of type float64") from None
    return value


_JSON_SCHEMA = "apiextensions.v1.JSONSchemaProps"
_SCHEMA_OR: Mapping[str, type] = {f"{_JSON_SCHEMA}OrArray": list, f"{_JSON_SCHEMA}OrBool": bool}
"""Schemas inside of schemas, where something else can stand too."""


def _schema_or(of: Type, other: type) -> Decoder:
    go = of.go

    def decode(value: Any, path: Path, problems: list[str]) -> Any:
        # As in the original nobody is told of what is unknown in here.
        if type(value) is dict:
            return compiled(_JSON_SCHEMA)(value, None, [])
        if isinstance(value, list) and other is list:
            return [compiled(_JSON_SCHEMA)(one, None, []) for one in value]
        if type(value) is not other:
            raise Mismatch(kind_of(value), go)
        return value

    return decode


def _bytes(of: Type) -> Decoder:
    go = of.go

    def decode(value: Any, path: Path, problems: list[str]) -> Any:
        if type(value) is not str:
            raise Mismatch(kind_of(value), go)
        return base64_text(value)

    return decode


def _int_or_string(of: Type) -> Decoder:
    integer = _integer(Type(Kind.INTEGER, "int32", format="int32"))
    return lambda value, path, problems: value if type(value) is str else integer(value, path, problems)


def _quantity(of: Type) -> Decoder:
    return _amount(NANO)


def _amount(finest: int) -> Decoder:
    return lambda value, path, problems: canonical(value if type(value) is str else str(value), finest=finest)


_FACTORIES: Mapping[Kind, Callable[[Type], Decoder]] = {
    Kind.OBJECT: _object,
    Kind.MAP: _map,
    Kind.LIST: _list,
    Kind.STRING: _exact(str),
    Kind.BYTES: _bytes,
    Kind.INTEGER: _integer,
    Kind.NUMBER: _exact(int, float),
    Kind.BOOLEAN: _exact(bool),
    Kind.TIME: _time,
    Kind.MICRO_TIME: _time,
    Kind.ANY: _any,
    Kind.INT_OR_STRING: _int_or_string,
    Kind.QUANTITY: _quantity,
}
