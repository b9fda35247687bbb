"""Which types the operators take, and what they give."""

from collections.abc import Mapping, Sequence

from kinepy_server.cel.signatures import Overload, table

_NUMBERS = ("int", "uint", "double")
_ORDERED = (*_NUMBERS, "bool", "string", "bytes", "timestamp", "duration")


def _same(*kinds: str, result: str = "") -> list[str]:
    return [f"({kind}, {kind}) -> {result or kind}" for kind in kinds]


_ORDER = [
    *_same(*_ORDERED, result="bool"),
    *(f"({one}, {other}) -> bool" for one in _NUMBERS for other in _NUMBERS if one != other),
]
_FORMS: Mapping[str, Sequence[str]] = {
    "_==_": ["(A, A) -> bool"],
    "_!=_": ["(A, A) -> bool"],
    "_&&_": ["(bool, bool) -> bool"],
    "_||_": ["(bool, bool) -> bool"],
    "_?_:_": ["(bool, A, A) -> A"],
    "!_": ["(bool) -> bool"],
    "-_": ["(int) -> int", "(double) -> double"],
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _ORDER),
    "_+_": [
        *_same(*_NUMBERS, "string", "bytes", "duration", "list<A>"),
        "(timestamp, duration) -> timestamp",
        "(duration, timestamp) -> timestamp",
    ],
    "_-_": [
        *_same(*_NUMBERS, "duration"),
        "(timestamp, timestamp) -> duration",
        "(timestamp, duration) -> timestamp",
    ],
    "_*_": _same(*_NUMBERS),
    "_/_": _same(*_NUMBERS),
    "_%_": _same("int", "uint"),
    "@in": ["(A, list<A>) -> bool", "(A, map<A, B>) -> bool"],
    "_[_]": [
        "(list<A>, int) -> A",
        "(map<A, B>, A) -> B",
        "(optional<list<A>>, int) -> optional<A>",
        "(optional<map<A, B>>, A) -> optional<B>",
    ],
    "_[?_]": [
        "(list<A>, int) -> optional<A>",
        "(map<A, B>, A) -> optional<B>",
        "(optional<list<A>>, int) -> optional<A>",
        "(optional<map<A, B>>, A) -> optional<B>",
    ],
    "type": ["(A) -> type"],
}


def _nothing(*_: object) -> None:
    raise AssertionError("operators are computed by their own code")


def _overloads(forms: Sequence[str]) -> Sequence[Overload]:
    return table({f"f{form}": _nothing for form in forms})


OPERATORS: Mapping[str, Sequence[Overload]] = {name: _overloads(forms) for name, forms in _FORMS.items()}
