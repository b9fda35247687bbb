"""Objects that expressions make: `Object.spec{replicas: 3}` and `JSONPatch{op: "add", path: "/a", value: 1}`.

Nothing is known of the fields of an `Object`: what it becomes part of decides. Its name says where it belongs.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kinepy_server.cel.errors import EvaluationError
from kinepy_server.cel.operators import equal
from kinepy_server.cel.types import DYN, STRING, Field, Type
from kinepy_server.cel.values import NAMES

OBJECT, PATCH = "Object", "JSONPatch"
_PATCH_TEXTS = ("op", "path", "from")
_GO_TYPES: Mapping[str, str] = {
    "bool": "bool",
    "double": "float64",
    "int": "int64",
    "list": "[]ref.Val",
    "map": "map[ref.Val]ref.Val",
    "null_type": "structpb.NullValue",
    "uint": "uint64",
}


class MadeObject(dict[str, Any]):
    """An object with the name of its type. Equal to objects of the same type with equal fields only."""

    def __init__(self, type_name: str, fields: Mapping[str, Any]) -> None:
        super().__init__(fields)
        self.type_name = type_name

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MadeObject)
            and self.type_name == other.type_name
            and self.keys() == other.keys()
            and all(equal(value, other[key]) for key, value in self.items())
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None


class MadePatch(MadeObject):
    """An operation of a JSON patch. Texts that are empty count as absent, and read as empty."""

    def __missing__(self, name: str) -> str:
        if name in _PATCH_TEXTS:
            return ""
        raise KeyError(name)


NAMES[MadePatch] = PATCH


class _AnyField(Mapping[str, Field]):
    """Every name is that of a field."""

    def __getitem__(self, name: str) -> Field:
        return Field(name, DYN)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


PATCH_TYPE = Type(
    PATCH, fields={**{name: Field(name, STRING) for name in _PATCH_TEXTS}, "value": Field("value", DYN)}
)
OBJECT_TYPE = Type(OBJECT, fields=_AnyField())


def made_type(name: str) -> Type | None:
    """The type of objects that are made under a name; None for a name that is none."""
    if name == PATCH:
        return PATCH_TYPE
    if name == OBJECT:
        return OBJECT_TYPE
    return Type(name, fields=OBJECT_TYPE.fields) if name.startswith(f"{OBJECT}.") else None


def maker(name: str) -> Callable[[Mapping[str, Any]], MadeObject]:
    """What makes an object of a type from its fields. It raises EvaluationError."""
    return _patch if name == PATCH else lambda fields: MadeObject(name, fields)


def _patch(fields: Mapping[str, Any]) -> MadePatch:
    for name in _PATCH_TEXTS:
        value = fields.get(name, "")
        if type(value) is not str:
            kind = NAMES.get(type(value), "dyn")
            text = f"unexpected type {_GO_TYPES.get(kind, kind)} for JSONPatchType '{name}' field"
            raise EvaluationError(text)
    return MadePatch(PATCH, {name: value for name, value in fields.items() if name == "value" or value})
