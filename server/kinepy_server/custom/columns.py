"""The Table of a custom resource: the printer columns of its definition, or name and age (CRD-21, NEG-6)."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson

from kinepy_server.custom.jsonpath import BadPath, Unfollowable, parse_jsonpath
from kinepy_server.data import table
from kinepy_server.resources.cells.common import Cell, Cells, name, row
from kinepy_server.resources.durations import INVALID, UNKNOWN, human_duration
from kinepy_server.resources.resource import Column, JsonObject
from kinepy_server.schema.go_text import go_text
from kinepy_server.schema.times import time_text

_AGE: Mapping[str, Any] = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


def printed(declared: Sequence[Mapping[str, Any]]) -> tuple[Sequence[Column], Cells]:
    """The columns of a Table, and the cells of an object."""
    named, created = (Column.of(one) for one in table("resources")["defaultColumns"])
    if not declared:
        age = Column("Age", "date", "", created.description, 0)
        return (named, age), row(name, _cell(_AGE))
    columns: list[Column] = [named]
    cells: list[Cell] = [name]
    for one in declared:
        try:
            cells.append(_cell(one))
        except BadPath:
            # As in the original a path that cannot be read ends the columns.
            break
        columns.append(_column(one))
    return columns, row(*cells)


def _column(declared: Mapping[str, Any]) -> Column:
    described = f"Custom resource definition column (in JSONPath format): {declared['jsonPath']}"
    return Column(
        declared["name"],
        declared["type"],
        declared.get("format", ""),
        declared.get("description") or described,
        declared.get("priority", 0),
    )


def _cell(declared: Mapping[str, Any]) -> Cell:
    find, show = parse_jsonpath(declared["jsonPath"]), _SHOWN[declared["type"]]

    def cell(obj: JsonObject, now: float) -> Any:
        try:
            found = find(obj)
        except Unfollowable:
            return None
        return show(found[0], now) if found else None

    return cell


_ESCAPED = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def _text(value: Any, now: float) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return "<no value>"
    if isinstance(value, dict | list):
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode().translate(_ESCAPED)
    return go_text(value)


def _integer(value: Any, now: float) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value)


def _number(value: Any, now: float) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _boolean(value: Any, now: float) -> bool | None:
    return value if isinstance(value, bool) else None


def _age(value: Any, now: float) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        moment = time_text(value, micro=False) if value not in ("", "null") else None
    except ValueError:
        return INVALID
    return UNKNOWN if moment is None else human_duration(now - datetime.fromisoformat(moment).timestamp())


_SHOWN: Mapping[str, Callable[[Any, float], Any]] = {
    "string": _text,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _age,
}
