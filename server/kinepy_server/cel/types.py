"""Types of expressions, with what is known of the size of their values."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Field(NamedTuple):
    """A member of an object: its name in the data, which may differ from that in expressions, and its type."""

    key: str
    type: "Type"


class Type:
    """A type. Objects have `fields` by the names that expressions use.

    `size_max` bounds how many characters, bytes, elements or entries a value has; `bytes_min` how long its
    JSON is at least. `adapt` makes of a JSON value what expressions see, where that is another value.
    """

    __slots__ = ("adapt", "bytes_min", "fields", "name", "params", "size_max")

    def __init__(
        self,
        name: str,
        params: "tuple[Type, ...]" = (),
        *,
        fields: Mapping[str, Field] | None = None,
        size_max: int | None = None,
        bytes_min: int = 1,
        adapt: Callable[[Any], Any] | None = None,
    ) -> None:
        self.name, self.params, self.fields = name, params, fields
        self.size_max, self.bytes_min = size_max, bytes_min
        self.adapt = adapt

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Type) and self.name == other.name and self.params == other.params
        )

    def __hash__(self) -> int:
        return hash((self.name, self.params))

    def __str__(self) -> str:
        if not self.params:
            return self.name
        return f"{self.name}({', '.join(map(str, self.params))})"

    @property
    def is_dynamic(self) -> bool:
        """Whether nothing is known before evaluation."""
        return self.name == "dyn"

    @property
    def is_parameter(self) -> bool:
        """Whether it stands for any type in a signature."""
        return len(self.name) == 1


DYN = Type("dyn")
INT = Type("int")
UINT = Type("uint")
DOUBLE = Type("double")
BOOL = Type("bool", bytes_min=4)
STRING = Type("string", bytes_min=2)
BYTES = Type("bytes", bytes_min=2)
NULL = Type("null_type")
TIMESTAMP = Type("timestamp", bytes_min=21)
DURATION = Type("duration", bytes_min=4)


def list_of(element: Type) -> Type:
    """The type of lists of these elements."""
    return Type("list", (element,), bytes_min=2)


def map_of(key: Type, value: Type) -> Type:
    """The type of maps."""
    return Type("map", (key, value), bytes_min=2)


def optional_of(value: Type) -> Type:
    """The type of optional values."""
    return Type("optional_type", (value,))


Bindings = dict[str, Type]
_NULLABLE = frozenset(("timestamp", "duration", "optional_type", "null_type"))


def fits(given: Type, wanted: Type, bound: Bindings) -> bool:
    """Whether a value of `given` may stand where `wanted` is; binds type parameters of `wanted`."""
    if wanted.is_parameter:
        known = bound.get(wanted.name)
        if known is None or (known.is_dynamic and not given.is_dynamic):
            bound[wanted.name] = given
            return True
        return fits(given, known, bound)
    if given.is_dynamic or wanted.is_dynamic:
        return True
    if given.name == "null_type" and (wanted.fields is not None or wanted.name in _NULLABLE):
        return True
    if wanted.name == "null_type" and (given.fields is not None or given.name in _NULLABLE):
        return True
    if given.name != wanted.name or len(given.params) != len(wanted.params):
        return False
    return all(fits(one, other, bound) for one, other in zip(given.params, wanted.params, strict=True))


def filled(wanted: Type, bound: Bindings) -> Type:
    """A type with its parameters replaced by what they were bound to."""
    if wanted.is_parameter:
        return bound.get(wanted.name, DYN)
    if not wanted.params:
        return wanted
    return Type(wanted.name, tuple(filled(param, bound) for param in wanted.params))


def joined(one: Type, other: Type) -> Type | None:
    """The type of either of two values, None where they do not go together."""
    if one == other:
        return one if not _has_dynamic(one) else other
    if one.is_dynamic or other.is_dynamic:
        return DYN
    return one if fits(other, one, {}) else None


def _has_dynamic(kind: Type) -> bool:
    return kind.is_dynamic or any(_has_dynamic(param) for param in kind.params)
