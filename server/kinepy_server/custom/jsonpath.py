"""The JSONPath of printer columns (CRD-21), as the original's clients and server read it.

Only the first value of a path is shown, and a path that leads nowhere, or cannot be followed in an object, shows
nothing.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import isinf
from operator import eq, ge, gt, le, lt, ne
from typing import Any, TypeAlias

from kinepy_server.schema.go_json import DEPTH_MAX
from kinepy_server.schema.go_numbers import whole_number

Step: TypeAlias = Callable[[list[Any]], list[Any]]
VALUES_MAX = 100_000
"""So many values one descent may find: some descents after each other would find them again and again."""
_FIELD = re.compile(r"(?:\\.|[^\\ \t\r\n.,\[\]$@{}])*", re.DOTALL)
_WORD = re.compile(r"[^ \t\r\n.,\[\]$@{}]*")
_NUMBER = re.compile(r"[+-]?[0-9.]*")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)")
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
_SLICE = re.compile(r"(-?\d*)(:-?\d*)?(:-?\d*)?", re.ASCII)
_KEY = re.compile(r"'([^']*)'")
_FILTER = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.DOTALL)
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge,
}  # fmt: skip
_ORDERED = (str, int, float)


class BadPath(ValueError):
    """A text that is no path."""


class Unfollowable(ValueError):
    """A path that does not fit an object."""


def parse_jsonpath(text: str) -> Callable[[Any], list[Any]]:
    """What finds the values at a path in an object, and raises Unfollowable. Raises BadPath."""
    steps = _parsed(text)

    def find(obj: Any) -> list[Any]:
        found = [obj]
        for step in steps:
            found = step(found)
        return found

    return find


def _parsed(text: str) -> list[Step]:
    steps: list[Step] = []
    position, descended = 0, False
    while position < len(text) and text[position] != "}":
        before, after_descent = position, descended
        descended = text.startswith("..", position)
        if descended:
            if after_descent:
                raise BadPath("invalid multiple recursive descent")
            steps.append(_descend)
            position += 2
            if text[position : position + 1].isalnum() or text[position : position + 1] == "_":
                position = _take_field(text, position, steps)
                descended = False
        elif text.startswith("[?(", position):
            position = _take_filter(text, position + 3, steps)
        else:
            position = _take(text, position, steps)
        assert position > before, "every step takes something"
    return steps


def _take(text: str, position: int, steps: list[Step]) -> int:
    first = text[position]
    if first in "\r\n":
        raise BadPath("unclosed action")
    if first in " @$":
        return position + 1
    if first == "[":
        return _take_brackets(text, position, steps)
    if first in "'\"":
        match = _QUOTED.match(text, position)
        if match is None:
            raise BadPath("unterminated quoted string")
        steps.append(_constant(re.sub(r"\\(.)", r"\1", match[0][1:-1])))
        return match.end()
    if first == ".":
        return _take_field(text, position + 1, steps)
    if first in "+-" or first.isdigit():
        return _take_number(text, position, steps)
    if first.isalpha() or first == "_":
        match = _WORD.match(text, position)
        assert match is not None, "it may be empty"
        steps.append(_constant(match[0] == "true") if match[0] in ("true", "false") else _unknown(match[0]))
        return match.end()
    raise BadPath(f"unrecognized character in action: {first!r}")


def _take_field(text: str, position: int, steps: list[Step]) -> int:
    match = _FIELD.match(text, position)
    assert match is not None, "it may be empty"
    steps.append(_everything if match[0] == "*" else _field(match[0].replace("\\", "")))
    return match.end()


def _take_number(text: str, position: int, steps: list[Step]) -> int:
    match = _NUMBER.match(text, position)
    assert match is not None, "it may be empty"
    if _DECIMAL.fullmatch(match[0]) is None:
        raise BadPath(f"cannot parse number {match[0]}")
    steps.append(_constant(_number_of(match[0])))
    return match.end()


def _number_of(text: str) -> int | float:
    """As the original: an integer, else a number that may have a fraction."""
    whole = None if "." in text else whole_number(text)
    if whole is not None:
        return whole
    number = float(text)
    if isinf(number):
        raise BadPath(f"cannot parse number {text}")
    return number


def _take_brackets(text: str, position: int, steps: list[Step]) -> int:
    end = text.find("]", position)
    if end < 0 or "\n" in text[position:end]:
        raise BadPath("unterminated array")
    inner = text[position + 1 : end]
    parts = inner.split(",")
    if len(parts) > 1:
        steps.append(_union([_parsed(f"[{part.strip(' ')}]") for part in parts]))
    elif (key := _KEY.fullmatch(inner)) is not None:
        steps.extend(_parsed(f".{key[1]}"))
    elif (found := _SLICE.fullmatch(":" if inner == "*" else inner)) is not None:
        steps.append(_elements(*(None if part is None else _index(part) for part in found.groups())))
    else:
        raise BadPath(f"invalid array index {inner}")
    return end + 1


def _take_filter(text: str, position: int, steps: list[Step]) -> int:
    start, quote, closed = position, "", False
    while position < len(text) and not (text[position] == ")" and bool(quote) == closed):
        character = text[position]
        if character == "\n":
            raise BadPath("unterminated filter")
        if character in "'\"":
            if not quote:
                quote = character
            elif character == quote and text[position - 1] != "\\":
                closed = True
        position += 1
    if position == len(text):
        raise BadPath("unterminated filter")
    if text[position + 1 : position + 2] != "]":
        raise BadPath("unclosed array expect ]")
    condition = _FILTER.fullmatch(text[start:position])
    if condition is None:
        steps.append(_having(_parsed(text[start:position])))
    else:
        left, operator, right = condition.groups()
        steps.append(_filter(_parsed(left), operator, _parsed(right)))
    return position + 2


# --- steps


def _run(steps: Sequence[Step], value: Any) -> list[Any]:
    found = [value]
    for step in steps:
        found = step(found)
    return found


def _constant(value: Any) -> Step:
    return lambda values: [value] * len(values)


def _unknown(word: str) -> Step:
    def refuse(values: list[Any]) -> list[Any]:
        raise Unfollowable(f"unrecognized identifier {word}")

    return refuse


def _field(name: str) -> Step:
    return lambda values: [value[name] for value in values if isinstance(value, dict) and name in value]


def _members(value: Any) -> Sequence[Any]:
    if isinstance(value, dict):
        return [value[name] for name in sorted(value)]
    return value if isinstance(value, list) else ()


def _everything(values: list[Any]) -> list[Any]:
    return [member for value in values for member in _members(value)]


def _descend(values: list[Any]) -> list[Any]:
    found = list(islice((one for value in values for one in _below(value, DEPTH_MAX)), VALUES_MAX + 1))
    if len(found) > VALUES_MAX:
        raise Unfollowable("too many values")
    return found


def _below(value: Any, levels: int) -> Iterator[Any]:
    members = _members(value)
    if value and isinstance(value, dict | list | str):
        yield value
    if levels:
        for member in members:
            yield from _below(member, levels - 1)


def _union(parts: Sequence[Sequence[Step]]) -> Step:
    def union(values: list[Any]) -> list[Any]:
        found: list[Any] = []
        for steps in parts:
            some = values
            for step in steps:
                some = step(some)
            found += some
        return found

    return union


@dataclass(frozen=True, slots=True)
class _Index:
    """A part of a slice; without a number where nothing is written."""

    number: int | None


def _index(part: str) -> _Index:
    text = part.removeprefix(":")
    number = whole_number(text) if text else None
    if text and number is None:
        raise BadPath(f"array index {text} is not a number")
    return _Index(number)


def _elements(first: _Index | None, end: _Index | None = None, step: _Index | None = None) -> Step:
    start = (first.number if first is not None else None) or 0
    stop = end.number if end is not None else start + 1
    last = end is None and start == -1
    stride = step.number if step is not None and step.number is not None else 1

    def pick(values: list[Any]) -> list[Any]:
        found: list[Any] = []
        for value in values:
            if value is None:
                continue
            if not isinstance(value, list):
                raise Unfollowable("not an array or slice")
            length = len(value)
            low = start + length if start < 0 else start
            high = length if stop is None or last else stop + length if stop < 0 else stop
            if low == high:
                continue
            if not 0 <= low < length or not 0 <= high <= length or low > high:
                raise Unfollowable("array index out of bounds")
            if stride <= 0:
                raise Unfollowable("step must be > 0")
            found += value[low:high:stride]
        return found

    return pick


def _having(steps: Sequence[Step]) -> Step:
    def having(values: list[Any]) -> list[Any]:
        return [member for value in values for member in _listed(value) if _exists(steps, member)]

    return having


def _exists(steps: Sequence[Step], member: Any) -> bool:
    try:
        return bool(_run(steps, member))
    except Unfollowable:
        return False


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise Unfollowable("not an array or slice and cannot be filtered")
    return value


def _filter(left: Sequence[Step], operator: str, right: Sequence[Step]) -> Step:
    compare = _COMPARISONS.get(operator)

    def fits(member: Any) -> bool:
        if compare is None:
            raise Unfollowable(f"unrecognized filter operator {operator}")
        lefts, rights = _run(left, member), _run(right, member)
        if len(lefts) != 1 or len(rights) != 1:
            raise Unfollowable("can only compare one element at a time")
        one, other = lefts[0], rights[0]
        ordered = operator not in ("==", "!=")
        if type(one) is not type(other) or (ordered and not isinstance(one, _ORDERED)):
            raise Unfollowable("incompatible types for comparison")
        if (isinstance(one, bool) and ordered) or isinstance(one, dict | list) or one is None:
            raise Unfollowable("invalid type for comparison")
        return compare(one, other)

    return lambda values: [member for value in values for member in _listed(value) if fits(member)]
