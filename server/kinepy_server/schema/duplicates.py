"""Repeated keys in JSON objects, which a parser swallows.

Every pair of an object has one colon; so has a text for each colon in it. When the colons of a body are
those of its parsed value, no pair was swallowed. Only a body that has more is scanned.
"""

import json
from collections.abc import Iterable
from typing import Any

from kinepy_server.schema.compile import Path, path_text
from kinepy_server.schema.types import Kind, Type, type_named

_ESCAPED_COLON = b"\\u003"


def may_repeat(body: bytes, value: Any) -> bool:
    """Whether a body, parsed to `value`, may hold a repeated key. Never False when it does."""
    return body.count(b":") != _colons(value) or _ESCAPED_COLON in body


def strict_problems(schema: str, body: bytes) -> list[str]:
    """Unknown and repeated fields of a body, in its order, each once."""
    problems: list[str] = []
    value = json.loads(body.decode("utf-8", "replace"), object_pairs_hook=_Pairs)
    _walk(value, (type_named(schema), None), problems)
    return list(dict.fromkeys(problems))


def repeated_fields(body: bytes) -> list[str]:
    """The repeated fields of a body that has no type of its own, in its order, each once."""
    problems: list[str] = []
    _walk_untyped(json.loads(body.decode("utf-8", "replace"), object_pairs_hook=_Pairs), None, problems)
    return list(dict.fromkeys(problems))


class _Pairs(list[tuple[str, Any]]):
    """An object as its pairs, repeated keys included."""


def _colons(value: Any) -> int:
    members: Iterable[Any]
    if type(value) is dict:
        total, members = len(value) + "".join(value).count(":"), value.values()
    elif type(value) is list:
        total, members = 0, value
    else:
        return value.count(":") if type(value) is str else 0
    for member in members:
        # Not a call for each text: this is done with every body.
        if type(member) is str:
            if ":" in member:
                total += member.count(":")
        elif type(member) is dict or type(member) is list:
            total += _colons(member)
    return total


def _walk(value: Any, place: tuple[Type, Path], problems: list[str]) -> None:
    of, path = place
    if isinstance(value, _Pairs) and of.kind in (Kind.OBJECT, Kind.MAP):
        seen: set[str] = set()
        for name, member in value:
            here = (path, name)
            inner = of.items if of.kind is Kind.MAP else None
            if of.kind is Kind.OBJECT:
                prop = of.properties.get(name)
                if prop is None:
                    problems.append(f'unknown field "{path_text(here)}"')
                    continue
                inner = prop.type
            if name in seen:
                problems.append(f'duplicate field "{path_text(here)}"')
            seen.add(name)
            assert inner is not None
            _walk(member, (inner, here), problems)
    elif type(value) is list and of.items is not None:
        for index, member in enumerate(value):
            _walk(member, (of.items, (path, index)), problems)


def _walk_untyped(value: Any, path: Path, problems: list[str]) -> None:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for name, member in value:
            if name in seen:
                problems.append(f'duplicate field "{path_text((path, name))}"')
            seen.add(name)
            _walk_untyped(member, (path, name), problems)
    elif type(value) is list:
        for index, member in enumerate(value):
            _walk_untyped(member, (path, index), problems)
