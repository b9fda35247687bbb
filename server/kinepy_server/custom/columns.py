"""The Table of a custom resource: the printer columns of its definition, or name and age (CRD-21, NEG-6)."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson

from kinepy_server.custom.paths import parse_path
from kinepy_server.data import table
from kinepy_server.resources.cells.common import Cell, Cells, name, row
from kinepy_server.resources.durations import INVALID, human_duration
from kinepy_server.resources.resource import Column, JsonObject
from kinepy_server.schema.go_text import go_text

_AGE: Mapping[str, Any] = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


def printed(declared: Sequence[Mapping[str, Any]]) -> tuple[Sequence[Column], Cells]:
    """The columns of a Table, and the cells of an object."""
    named, created = (Column.of(one) for one in table("resources")["defaultColumns"])
    if not declared:
        age = Column("Age", "date", "", created.description, 0)
        return (named, age), row(name, _cell(_AGE))
    columns = [_column(one) for one in declared]
    return (named, *columns), row(name, *(_cell(one) for one in declared))


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
    find, show = parse_path(declared["jsonPath"]), _SHOWN[declared["type"]]

    def cell(obj: JsonObject, now: float) -> Any:
        found = find(obj)
        return show(found[0], now) if found and found[0] is not None else None

    return cell


def _text(value: Any, now: float) -> str:
    if isinstance(value, str):
        return value
    return orjson.dumps(value).decode() if isinstance(value, dict | list) else go_text(value)


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
        return human_duration(now - datetime.fromisoformat(value).timestamp())
    except ValueError:
        return INVALID


_SHOWN: Mapping[str, Callable[[Any, float], Any]] = {
    "string": _text,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _age,
}
