"""Large JSON documents, made piece by piece.

A whole description of many definitions is tens of megabytes. Encoding it in one call, and freeing all of its parts
at once, would hold up everybody else for as long, in whatever thread: a piece is encoded and freed before the next is
made.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias, Union

import orjson

Members: TypeAlias = Mapping[str, Union[bytes, "Members"]]
"""The members of an object: each is encoded, or an object of such members."""


def encoded(members: Iterable[tuple[str, Any]]) -> dict[str, bytes]:
    """The members of an object, in the order of their names; names in the values are in order too."""
    made = {name: orjson.dumps(value, option=orjson.OPT_SORT_KEYS) for name, value in members}
    return dict(sorted(made.items()))


def joined(members: Members) -> bytes:
    """The object of encoded members."""
    return b"".join(_chunks(members))


def _chunks(members: Members) -> Iterator[bytes]:
    opening = b"{"
    for name, value in members.items():
        yield b"%b%b:" % (opening, orjson.dumps(name))
        opening = b","
        if isinstance(value, bytes):
            yield value
        else:
            yield from _chunks(value)
    yield b"}" if members else b"{}"
