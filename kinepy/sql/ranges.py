"""One question about a range of keys is three statements: for one key, with and without an upper bound."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql.elements import ClauseElement, ColumnElement

from kinepy.keys import KeyRange

Bounds = Callable[[ColumnElement[Any]], ColumnElement[bool]]

START = sa.bindparam("start", type_=sa.LargeBinary)
END = sa.bindparam("end", type_=sa.LargeBinary)


def _is(key: ColumnElement[Any]) -> ColumnElement[bool]:
    return key == START


def _between(key: ColumnElement[Any]) -> ColumnElement[bool]:
    return sa.and_(key >= START, key < END)


def _from(key: ColumnElement[Any]) -> ColumnElement[bool]:
    return key >= START


@dataclass(frozen=True, slots=True, eq=False)
class Ranged:
    """The statements of one question. A bound that may be NULL would keep SQLite from using the key's index."""

    single: ClauseElement
    bounded: ClauseElement
    unbounded: ClauseElement

    def on(self, key_range: KeyRange) -> ClauseElement:
        """The statement for a range; its parameters are `start` and, for a bounded one, `end`."""
        if key_range.end is None:
            return self.unbounded
        return self.single if key_range.is_single else self.bounded


def ranged(build: Callable[[Bounds], ClauseElement], *, single: ClauseElement | None = None) -> Ranged:
    """Build the statements of one question from a function of the condition on the key."""
    return Ranged(build(_is) if single is None else single, build(_between), build(_from))
