"""Whether an applied configuration is of its type, in the original's words (SSA-7)."""

from collections.abc import Iterator
from typing import Any

from kinepy_server.apply.elements import ElementError, element_of, element_text
from kinepy_server.schema.go_text import go_syntax, go_text, go_type
from kinepy_server.schema.types import Kind, Type

_NUMBERS = (Kind.INTEGER, Kind.NUMBER)
_TEXTS = (Kind.STRING, Kind.BYTES, Kind.TIME, Kind.MICRO_TIME)
_ANYTHING = (Kind.ANY, Kind.INT_OR_STRING, Kind.QUANTITY)


class NotTyped(ValueError):
    """A configuration has fields that its type does not have, or values of other types."""


def check_typed(kind: Type, value: Any) -> None:
    """Raises NotTyped with all that is wrong."""
    problems = list(_problems(kind, value, ""))
    if len(problems) == 1:
        raise NotTyped(problems[0])
    if problems:
        raise NotTyped("\n  ".join(("errors:", *problems)))


def _problems(kind: Type, value: Any, path: str) -> Iterator[str]:
    if value is None:
        return
    match kind.kind:
        case Kind.OBJECT | Kind.MAP:
            if isinstance(value, dict):
                yield from _problems_of_members(kind, value, path)
            else:
                yield _told(path, f"expected map, got {_pointed(value)}")
        case Kind.LIST:
            if isinstance(value, list):
                yield from _problems_of_elements(kind, value, path)
            else:
                yield _told(path, f"expected list, got {_pointed(value)}")
        case _:
            problem = _scalar_problem(kind, value)
            if problem:
                yield _told(path, problem)


def _problems_of_members(kind: Type, value: dict[str, Any], path: str) -> Iterator[str]:
    for name, member in value.items():
        here = f"{path}.{name}"
        if kind.kind is Kind.MAP:
            assert kind.items is not None
            yield from _problems(kind.items, member, here)
            continue
        prop = kind.properties.get(name)
        if prop is None:
            yield _told(here, "field not declared in schema")
        else:
            yield from _problems(prop.type, member, here)


def _problems_of_elements(kind: Type, values: list[Any], path: str) -> Iterator[str]:
    assert kind.items is not None
    seen = set()
    for index, value in enumerate(values):
        element = f"i:{index}"
        if kind.list_type != "atomic":
            try:
                element = element_of(kind, value)
            except ElementError as error:
                yield _told(path, f"element {index}: {error}")
                return
            if element in seen:
                yield _told(path, f"duplicate entries for key {element_text(element)}")
            seen.add(element)
        yield from _problems(kind.items, value, f"{path}{element_text(element)}")


def _scalar_problem(kind: Type, value: Any) -> str:
    if kind.kind in _ANYTHING:
        compound = isinstance(value, dict | list) and kind.kind is not Kind.ANY
        return f"expected any scalar, got {_pointed(value)}" if compound else ""
    if kind.kind in _NUMBERS:
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        return "" if fits else f"expected numeric (int or float), got {go_type(_read_as_go(value))}"
    if kind.kind in _TEXTS:
        if isinstance(value, str):
            return ""
        return f"expected string, got &value.valueUnstructured{{Value:{go_syntax(_read_as_go(value))}}}"
    return "" if isinstance(value, bool) else f"expected boolean, got {_pointed(value)}"


def _pointed(value: Any) -> str:
    return f"&{{{go_text(_read_as_go(value))}}}"


def _read_as_go(value: Any) -> Any:
    """The original reads the numbers of a configuration as floats."""
    if isinstance(value, dict):
        return {name: _read_as_go(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_read_as_go(member) for member in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _told(path: str, problem: str) -> str:
    return f"{path}: {problem}" if path else problem
