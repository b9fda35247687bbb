"""The shape of every type: properties, list and map kinds, merge keys. Compiled once from the schema table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import Any

from kinepy_server.data import table


class Kind(Enum):
    """What JSON a type is, and what else is asked of it."""

    OBJECT = "object"
    MAP = "map"
    LIST = "list"
    STRING = "string"
    BYTES = "bytes"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    TIME = "timestamp"
    MICRO_TIME = "timestampMicro"
    ANY = "anyJSON"
    INT_OR_STRING = "intOrString"
    QUANTITY = "quantity"


@dataclass(slots=True)
class Type:
    """A type. `name` is the schema's for objects and special types, else empty; `items` is the element type
    of a list or a map. `go` is the original's name of the type, which decode errors show."""

    kind: Kind
    go: str
    name: str = ""
    format: str = ""
    items: "Type | None" = None
    list_type: str = "atomic"
    list_map_keys: Sequence[str] = ()
    map_type: str = "granular"
    properties: Mapping[str, "Property"] = field(default_factory=dict)
    required: Sequence[str] = ()
    leaves: Mapping[str, str] | None = field(default=None, repr=False, compare=False)
    """The path elements of the properties that have nothing inside, by name, once managed fields were asked for."""


@dataclass(frozen=True, slots=True)
class Property:
    """A property of an object type.

    `pointer`, `omit_empty` and `omit_zero` say how the original's encoder treats it: a pointer is shown when it
    is set, whatever its value; `omit_empty` hides empty texts, numbers, lists and maps, never objects;
    `omit_zero` hides anything zero.
    """

    name: str
    type: Type
    pointer: bool
    omit_empty: bool
    omit_zero: bool
    map_type: str = "granular"
    patch_merge_key: str = ""
    patch_strategy: str = ""
    default: Any = None
    enum: Sequence[str] = ()


GO_NAMES: Mapping[tuple[str, str], str] = {
    ("meta.v1.ObjectMeta", "uid"): "types.UID",
    ("meta.v1.OwnerReference", "uid"): "types.UID",
    ("meta.v1.Preconditions", "uid"): "types.UID",
    ("meta.v1.ManagedFieldsEntry", "operation"): "v1.ManagedFieldsOperationType",
    ("meta.v1.DeleteOptions", "propagationPolicy"): "v1.DeletionPropagation",
    ("v1.ObjectReference", "uid"): "types.UID",
    ("v1.Secret", "type"): "v1.SecretType",
    ("v1.NamespaceSpec", "finalizers"): "v1.FinalizerName",
    ("v1.NamespaceStatus", "phase"): "v1.NamespacePhase",
    ("v1.NamespaceCondition", "type"): "v1.NamespaceConditionType",
    ("v1.NamespaceCondition", "status"): "v1.ConditionStatus",
    ("coordination.v1.LeaseSpec", "strategy"): "v1.CoordinatedLeaseStrategy",
}
"""Properties whose strings have a type name of their own."""

_SCALARS = {"string": Kind.STRING, "integer": Kind.INTEGER, "number": Kind.NUMBER, "boolean": Kind.BOOLEAN}
_GO_SCALARS = {"string": "string", "boolean": "bool", "double": "float64", "byte": "[]uint8"}


@cache
def type_named(name: str) -> Type:
    """The type of a schema name, such as `v1.ConfigMap`. Raises KeyError for a name that is not in the table."""
    data = table("schemas")
    go = f"{name.split('.')[-2]}.{name.split('.')[-1]}"
    special = data["special"].get(name)
    if special:
        # What no schema describes is owned as a whole.
        return Type(Kind(special), go, name, map_type="atomic")
    definition = data["definitions"][name]
    made = Type(Kind.OBJECT, go, name, map_type=definition.get("mapType", "granular"))
    _open[name] = made
    made.required = tuple(definition.get("required", ()))
    made.properties = {
        prop: _property(name, prop, shape=data["shapes"][shape], flags=flags)
        for prop, (shape, flags) in definition["properties"].items()
    }
    return made


_open: dict[str, Type] = {}
"""Types whose properties are being filled in: recursive types find themselves here."""


def _reference(name: str) -> Type:
    return _open.get(name) or type_named(name)


def _property(owner: str, name: str, *, shape: Mapping[str, Any], flags: str) -> Property:
    made = _shape(shape, GO_NAMES.get((owner, name), ""))
    return Property(
        name,
        made,
        pointer="p" in flags,
        omit_empty="o" in flags,
        omit_zero="z" in flags,
        map_type=shape.get("mapType", made.map_type),
        patch_merge_key=shape.get("patchMergeKey", ""),
        patch_strategy=shape.get("patchStrategy", ""),
        default=shape.get("default"),
        enum=tuple(shape.get("enum", ())),
    )


def _shape(shape: Mapping[str, Any], go: str) -> Type:
    """The type of an expanded shape; `go` names the strings in it when they have a name of their own."""
    if "ref" in shape:
        return _reference(shape["ref"])
    if shape["type"] == "array":
        items = _shape(shape["items"], go)
        keys = tuple(shape.get("listMapKeys", ()))
        return Type(
            Kind.LIST,
            f"[]{items.go}",
            items=items,
            list_type=shape.get("listType", "atomic"),
            list_map_keys=keys,
        )
    if "additionalProperties" in shape:
        items = _shape(shape["additionalProperties"], go)
        return Type(
            Kind.MAP, f"map[string]{items.go}", items=items, map_type=shape.get("mapType", "granular")
        )
    text_format = shape.get("format", "")
    if text_format == "byte":
        return Type(Kind.BYTES, "[]uint8", format="byte")
    name = go or _GO_SCALARS.get(text_format or shape["type"]) or text_format
    return Type(_SCALARS[shape["type"]], name, format=text_format)
