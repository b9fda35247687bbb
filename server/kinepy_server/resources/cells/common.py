"""What the cells of many types are made of."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from kinepy_server.resources.durations import since
from kinepy_server.resources.resource import JsonObject

Cells: TypeAlias = Callable[[JsonObject, float], Sequence[Any]]
Cell: TypeAlias = Callable[[JsonObject, float], Any]
NONE, UNSET, UNKNOWN = "<none>", "<unset>", "<unknown>"
SHOWN_OF_MANY = 3


def name(obj: JsonObject, now: float) -> str:
    """The object's name."""
    found: str = obj["metadata"].get("name", "")
    return found


def age(obj: JsonObject, now: float) -> str:
    """The object's age."""
    return since(obj["metadata"].get("creationTimestamp"), now)


def at(path: str, absent: Any = "") -> Cell:
    """The value at a dotted path, or what stands for an absent or empty text."""
    *parents, last = path.split(".")

    def cell(obj: JsonObject, now: float) -> Any:
        inner: Any = obj
        for parent in parents:
            inner = inner.get(parent) or {}
        value = inner.get(last)
        return absent if value is None or value == "" else value

    return cell


def count(path: str) -> Cell:
    """How many members the list or map at a path has."""
    found = at(path, ())
    return lambda obj, now: len(found(obj, now))


def row(*cells: Cell) -> Cells:
    """A row of cells."""
    return lambda obj, now: [cell(obj, now) for cell in cells]


def joined_some(texts: Sequence[str]) -> str:
    """The first three, and how many more there are."""
    if not texts:
        return ""
    shown = ",".join(texts[:SHOWN_OF_MANY])
    more = len(texts) - SHOWN_OF_MANY
    return f"{shown} + {more} more..." if more > 0 else shown


def pairs(labels: Mapping[str, str] | None) -> str:
    """A set of labels as a selector is written."""
    if not labels:
        return NONE
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


_OPERATORS = {"In": "in", "NotIn": "notin"}


def selector_text(selector: JsonObject | None, *, absent: str = NONE, empty: str = NONE) -> str:
    """A label selector as text, its requirements in the order of their keys."""
    if selector is None:
        return absent
    requirements = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()]
    requirements += [(one["key"], _requirement(one)) for one in selector.get("matchExpressions") or ()]
    return ",".join(text for _, text in sorted(requirements)) or empty


def _requirement(expression: JsonObject) -> str:
    key, operator = expression["key"], expression.get("operator", "")
    match operator:
        case "Exists":
            return str(key)
        case "DoesNotExist":
            return f"!{key}"
        case _:
            values = ",".join(sorted(expression.get("values") or ()))
            return f"{key} {_OPERATORS.get(operator, operator)} ({values})"


def selector(path: str) -> Cell:
    """The label selector at a path as text."""
    found = at(path, None)
    return lambda obj, now: selector_text(found(obj, now))


def labels(path: str) -> Cell:
    """The labels at a path as text."""
    found = at(path, None)
    return lambda obj, now: pairs(found(obj, now))


def containers(path: str) -> Cell:
    """The names of the containers of the pod spec at a path."""
    return _of_containers(path, "name")


def images(path: str) -> Cell:
    """The images of the containers of the pod spec at a path."""
    return _of_containers(path, "image")


def _of_containers(path: str, field: str) -> Cell:
    found = at(f"{path}.containers", ())
    return lambda obj, now: ",".join(one.get(field, "") for one in found(obj, now))


def condition(conditions: Iterable[JsonObject] | None, kind: str) -> JsonObject | None:
    """The condition of a type, or None."""
    return next((one for one in conditions or () if one.get("type") == kind), None)
