"""Functions as data: a signature, what computes it, and what it costs."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from kinepy_server.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
)
from kinepy_server.cel.values import NAMES

Cost: TypeAlias = Callable[[Sequence[float]], float]
"""What a call costs, from the sizes of its operands."""

_SIGNATURE = re.compile(r"(?:(?P<target>[^(]+)\.)?(?P<name>\w+)\((?P<args>.*)\) -> (?P<result>.+)")
_SIMPLE = {
    kind.name: kind for kind in (BOOL, BYTES, DOUBLE, DURATION, DYN, INT, NULL, STRING, TIMESTAMP, UINT)
}
_SHORT = {
    "optional": "optional_type",
    "url": "kubernetes.URL",
    "ip": "net.IP",
    "cidr": "net.CIDR",
    "quantity": "kubernetes.Quantity",
    "semver": "kubernetes.Semver",
    "format": "kubernetes.NamedFormat",
    "authorizer": "kubernetes.authorization.Authorizer",
    "pathcheck": "kubernetes.authorization.PathCheck",
    "groupcheck": "kubernetes.authorization.GroupCheck",
    "resourcecheck": "kubernetes.authorization.ResourceCheck",
    "answer": "kubernetes.authorization.Decision",
}
NAMESPACES = frozenset(("strings", "sets", "lists", "optional", "format", "ip", "jsonpatch"))
"""What stands before the name of some functions: it is no value."""
METHODS_OF_NAMESPACES = frozenset(
    ["format.validate", *(f"ip.{name}" for name in ("family", "isUnspecified", "isLoopback"))]
    + [f"ip.{name}" for name in ("isLinkLocalMulticast", "isLinkLocalUnicast", "isGlobalUnicast")]
)
"""Methods of types that have the name of a namespace."""
_LONG = {"google.protobuf.Duration": "duration", "google.protobuf.Timestamp": "timestamp"}


class Overload:
    """One form of a function. `params` begin with what a method is called on."""

    __slots__ = ("cost", "impl", "is_method", "name", "names", "params", "result")

    def __init__(self, text: str, impl: Callable[..., Any], cost: Cost | None) -> None:
        match = _SIGNATURE.fullmatch(text)
        assert match is not None, text
        target, name = match["target"], match["name"]
        if target in NAMESPACES and f"{target}.{name}" not in METHODS_OF_NAMESPACES:
            target, name = None, f"{target}.{name}"
        self.is_method = target is not None
        self.name: str = name
        written = [*([target] if target else []), *_split(match["args"])]
        self.params = tuple(type_named(part) for part in written)
        self.result = type_named(match["result"])
        self.impl, self.cost = impl, cost
        self.names = tuple(param.name for param in self.params)

    def takes(self, args: Sequence[Any]) -> bool:
        """Whether these values are of the types that it takes."""
        return len(args) == len(self.names) and all(
            name == "dyn" or len(name) == 1 or name == _name(arg)
            for name, arg in zip(self.names, args, strict=True)
        )


def _name(value: Any) -> str:
    name = NAMES.get(type(value), "dyn")
    return _LONG.get(name, name)


def table(
    rows: Mapping[str, Callable[..., Any] | tuple[Callable[..., Any], Cost]], *, methods_of: str = ""
) -> list[Overload]:
    """Overloads of rows `signature: function` or `signature: (function, cost)`.

    Signatures read `string.charAt(int) -> string`. With `methods_of` all are methods of one type.
    """
    found = []
    for text, entry in rows.items():
        impl, cost = entry if isinstance(entry, tuple) else (entry, None)
        found.append(Overload(f"{methods_of}.{text}" if methods_of else text, impl, cost))
    return found


def _split(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character == "<") - (character == ">")
        if character == "," and not depth:
            parts.append(text[start:position].strip())
            start = position + 1
    rest = text[start:].strip()
    return [*parts, rest] if rest else parts


def type_named(text: str) -> Type:
    """The type of a text such as `map<string, list<A>>`."""
    name, bracket, rest = text.partition("<")
    if bracket:
        return Type(_SHORT.get(name, name), tuple(type_named(part) for part in _split(rest[:-1])))
    return _SIMPLE.get(name) or Type(_SHORT.get(name, name))


# --- costs


def traverse(sizes: Sequence[float]) -> float:
    """Reads its first operand, a text, once."""
    return 1 + math.ceil(sizes[0] * 0.1)


def traverse_second(sizes: Sequence[float]) -> float:
    """Reads its second operand, a text, once."""
    return 1 + math.ceil(sizes[1] * 0.1)


def elements(sizes: Sequence[float]) -> float:
    """Visits each element of its first operand."""
    return 1 + sizes[0]


def search(sizes: Sequence[float]) -> float:
    """Looks for one text in another."""
    return 1 + math.ceil(sizes[0] * 0.1) * max(1, math.ceil(sizes[1] * 0.1))


def expression(sizes: Sequence[float]) -> float:
    """Matches a regular expression."""
    return 1 + math.ceil((1 + sizes[0]) * 0.1) * max(1, math.ceil(sizes[1] * 0.25))


def pairs(sizes: Sequence[float]) -> float:
    """Compares each element of one operand with each of the other."""
    return 1 + sizes[0] * sizes[1]


def squares(sizes: Sequence[float]) -> float:
    """Compares each element of its operand with each other."""
    return 1 + sizes[0] * sizes[0]
