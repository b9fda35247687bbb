"""The simple paths that definitions use: `.spec.replicas`, `.spec.list[0]`, `.spec.list[*].name` (CRD-20, CRD-21).

Printer columns know a little more: filters by equality, `..` is not taken.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

Step: TypeAlias = Callable[[Iterable[Any]], list[Any]]
_TOKEN = re.compile(
    r"\.(?P<name>(?:[^.\[\]\\'\"]|\\.)+)"
    r"|\[(?P<index>-?\d+)\]"
    r"|\[(?P<all>\*)\]|(?P<dotall>\.\*)"
    r"|\[['\"](?P<quoted>[^'\"]*)['\"]\]"
    r"|\[(?P<start>-?\d*):(?P<end>-?\d*)\]"
    r"|\[\?\(\s*@(?P<key>(?:\.[\w-]+)+)\s*(?P<operator>==|!=)\s*(?P<value>'[^']*'|\"[^\"]*\"|[\w.+-]+)\s*\)\]"
)
_SIMPLE = re.compile(r"(\.[A-Za-z_][\w-]*)+", re.ASCII)


class BadPath(ValueError):
    """A text that is no path that could be followed."""


def parse_path(text: str) -> Callable[[Any], list[Any]]:
    """What finds the values at a path in an object. Raises BadPath."""
    steps: list[Step] = []
    position, text = 0, text.strip()
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    text = text.removeprefix("$")
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise BadPath(text)
        steps.append(_step(match))
        position = match.end()

    def find(obj: Any) -> list[Any]:
        found = [obj]
        for step in steps:
            found = step(found)
        return found

    return find


def is_simple(text: str) -> bool:
    """Whether a path names nested members alone."""
    return _SIMPLE.fullmatch(text) is not None


def names_of(text: str) -> Sequence[str]:
    """The members that a simple path goes through."""
    return text.lstrip(".").split(".")


def value_at(obj: Any, names: Sequence[str]) -> Any:
    """The value that nested members lead to; None when there is none."""
    for name in names:
        if not isinstance(obj, dict):
            return None
        obj = obj.get(name)
    return obj


def _step(match: re.Match[str]) -> Step:
    if match["name"] is not None or match["quoted"] is not None:
        name = match["quoted"] if match["name"] is None else re.sub(r"\\(.)", r"\1", match["name"])
        return lambda values: [v[name] for v in values if isinstance(v, dict) and name in v]
    if match["index"] is not None:
        return _indexed(int(match["index"]))
    if match["all"] or match["dotall"]:
        return lambda values: [m for v in values for m in _members(v)]
    if match["key"] is not None:
        return _filtered(match)
    start, end = (int(part) if part else None for part in match.group("start", "end"))
    return lambda values: [m for v in values if isinstance(v, list) for m in v[start:end]]


def _members(value: Any) -> Iterable[Any]:
    if isinstance(value, list):
        return value
    return value.values() if isinstance(value, dict) else ()


def _indexed(index: int) -> Step:
    return lambda values: [v[index] for v in values if isinstance(v, list) and -len(v) <= index < len(v)]


def _filtered(match: re.Match[str]) -> Step:
    names, text = names_of(match["key"]), match["value"]
    wanted, equal = text.strip("'\""), match["operator"] == "=="

    def fits(element: Any) -> bool:
        value = value_at(element, names)
        shown = str(value).lower() if isinstance(value, bool) else str(value)
        return (value is not None and shown == wanted) is equal

    return lambda values: [m for v in values for m in _members(v) if fits(m)]
