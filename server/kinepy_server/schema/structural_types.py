"""The types of managed fields that a structural schema describes (SSA-6)."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kinepy_server.schema.structural_check import INT_OR_STRING
from kinepy_server.schema.structural_prune import EMBEDDED, PRESERVES
from kinepy_server.schema.types import Kind, Property, Type, type_named

Schema: TypeAlias = Mapping[str, Any]

ANYTHING = Type(Kind.ANY, "interface {}")
"""What no schema describes: maps in it are owned member by member, lists as a whole."""
_TEXT = Type(Kind.STRING, "string")
_SCALARS = {"string": Kind.STRING, "integer": Kind.INTEGER, "number": Kind.NUMBER, "boolean": Kind.BOOLEAN}
METADATA = "meta.v1.ObjectMeta"


class _Open(Mapping[str, Property]):
    """The properties of a type that takes any others too."""

    def __init__(self, known: Mapping[str, Property]) -> None:
        self._known = known

    def __getitem__(self, name: str) -> Property:
        return self._known.get(name) or _property(name, ANYTHING)

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def object_type(schema: Schema) -> Type:
    """The type of whole objects."""
    made = _compound(schema)
    head = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": type_named(METADATA)}
    known = {**_known(schema), **{name: _property(name, of) for name, of in head.items()}}
    made.properties = _Open(known) if schema.get(PRESERVES) else known
    return made


def _property(name: str, of: Type, schema: Schema | None = None) -> Property:
    return Property(
        name,
        of,
        pointer=True,
        omit_empty=True,
        omit_zero=False,
        map_type=of.map_type,
        default=schema.get("default") if schema else None,
    )


def _known(schema: Schema) -> Mapping[str, Property]:
    return {
        name: _property(name, type_of(inner), inner)
        for name, inner in (schema.get("properties") or {}).items()
    }


def type_of(schema: Schema) -> Type:
    """The type of a value."""
    if schema.get(INT_OR_STRING):
        return Type(Kind.INT_OR_STRING, "intstr.IntOrString")
    match schema.get("type"):
        case "object":
            return _object(schema)
        case "array":
            return _list(schema)
        case None | "":
            return _object(schema) if schema.get("properties") else ANYTHING
        case scalar:
            return Type(_SCALARS[scalar], scalar, format=schema.get("format", ""))


def _object(schema: Schema) -> Type:
    if schema.get("properties") or schema.get(EMBEDDED):
        return _compound(schema)
    additional = schema.get("additionalProperties")
    map_type = schema.get("x-kubernetes-map-type") or "granular"
    if isinstance(additional, Mapping):
        return Type(Kind.MAP, "map[string]interface {}", items=type_of(additional), map_type=map_type)
    if additional or schema.get(PRESERVES):
        return Type(Kind.MAP, "map[string]interface {}", items=ANYTHING, map_type=map_type)
    return _compound(schema)


def _compound(schema: Schema) -> Type:
    known = dict(_known(schema))
    if schema.get(EMBEDDED):
        head = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": type_named(METADATA)}
        known |= {name: _property(name, of) for name, of in head.items()}
    return Type(
        Kind.OBJECT,
        "map[string]interface {}",
        map_type=schema.get("x-kubernetes-map-type") or "granular",
        properties=_Open(known) if schema.get(PRESERVES) else known,
        required=tuple(schema.get("required") or ()),
    )


def _list(schema: Schema) -> Type:
    items = schema.get("items")
    return Type(
        Kind.LIST,
        "[]interface {}",
        items=type_of(items) if isinstance(items, Mapping) else ANYTHING,
        list_type=schema.get("x-kubernetes-list-type") or "atomic",
        list_map_keys=tuple(schema.get("x-kubernetes-list-map-keys") or ()),
    )
