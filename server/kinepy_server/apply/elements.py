"""Path elements: how members of objects and elements of lists are told from each other in a path."""

from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from kinepy_server.schema.types import Kind, Property, Type

_SORTED = orjson.OPT_SORT_KEYS
_MISSING = object()
# By names of their own, since a member of an enumeration is slow to look up and this is asked for every field.
_COMPOUND = _OBJECT, _MAP, _LIST, _ANY = Kind.OBJECT, Kind.MAP, Kind.LIST, Kind.ANY


class Repeated(list[Any]):
    """The elements of a list that have the same key. They are owned together, as one value."""


class ElementError(ValueError):
    """An element of a list has no place in a path. The text is the original's."""


def is_leaf(kind: Type) -> bool:
    """Whether values of a type are owned as a whole."""
    which = kind.kind
    if which is _MAP or which is _OBJECT or which is _ANY:
        return kind.map_type == "atomic"
    return which is not _LIST or kind.list_type == "atomic"


def is_misfit(kind: Type, value: Any) -> bool:
    """Whether a value is of another JSON type than its own: objects of custom types may be so until they are
    validated, and when their type has changed."""
    which = kind.kind
    if which is _MAP or which is _OBJECT:
        return value is not None and not isinstance(value, dict)
    return which is _LIST and value is not None and not isinstance(value, list)


def is_scalar(kind: Type) -> bool:
    """Whether values of a type have nothing inside."""
    return kind.kind not in _COMPOUND


def is_plain_struct(prop: Property) -> bool:
    """Whether the original's objects always have this member, an object with nothing in it at least."""
    return prop.type.kind is Kind.OBJECT and not prop.pointer


def element_of(kind: Type, value: Any) -> str:
    """The path element of an element of a keyed list or of a set. Raises ElementError."""
    if kind.list_type == "map":
        return _keyed(kind, value)
    if isinstance(value, dict):
        raise ElementError("associative list without keys has an element that's a map type")
    if isinstance(value, list):
        raise ElementError("not supported: associative list with lists as elements")
    if value is None:
        raise ElementError("associative list without keys has an element that's an explicit null")
    return f"v:{orjson.dumps(value).decode()}"


def place_of(kind: Type, value: Any) -> str:
    """As `element_of`, but empty for an element that has no place."""
    try:
        return element_of(kind, value)
    except ElementError:
        return ""


def elements(kind: Type, values: Sequence[Any]) -> dict[str, Any]:
    """The elements of a keyed list or of a set by their path elements; those that have none are left out."""
    found: dict[str, Any] = {}
    for value in values:
        element = place_of(kind, value)
        if not element:
            continue
        known = found.get(element, _MISSING)
        if known is _MISSING:
            found[element] = value
        elif isinstance(known, Repeated):
            known.append(value)
        else:
            found[element] = Repeated((known, value))
    return found


def _keyed(kind: Type, value: Any) -> str:
    if value is None:
        raise ElementError("associative list with keys may not have a null element")
    if not isinstance(value, dict):
        raise ElementError("associative list with keys may not have non-map elements")
    assert kind.items is not None
    key = {}
    for name in kind.list_map_keys:
        if name in value:
            key[name] = value[name]
        else:
            prop = kind.items.properties.get(name)
            if prop is not None and prop.default is not None:
                key[name] = prop.default
    if not key:
        names = " ".join(f'"{name}"' for name in kind.list_map_keys)
        raise ElementError(
            f"associative list with keys has an element that omits all key fields [{names}]"
            " (and doesn't have default values for any key fields)"
        )
    return f"k:{orjson.dumps(key, option=_SORTED).decode()}"


def path_text(path: Iterable[str]) -> str:
    """A path as messages show it: `.spec.ports[port=80,protocol="TCP"].name`."""
    return "".join(map(element_text, path))


def element_text(element: str) -> str:
    """A path element as messages show it."""
    kind, rest = element[:2], element[2:]
    match kind:
        case "f:":
            return f".{rest}"
        case "v:":
            return f"[={rest}]"
        case "k:":
            key = orjson.loads(rest)
            return f"[{','.join(f'{name}={orjson.dumps(key[name]).decode()}' for name in sorted(key))}]"
        case _:
            return f"[{rest}]"
