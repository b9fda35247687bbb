"""`string.format(list)`."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from kinepy_server.cel.errors import EvaluationError
from kinepy_server.cel.libraries.standard import double_text
from kinepy_server.cel.values import Duration, Timestamp, TypeValue, UInt, name_of
from kinepy_server.schema.go_numbers import whole_number

_CLAUSE = re.compile(r"%(?:%|(?:\.([0-9]+))?(.?))", re.DOTALL)
_PRECISION_MAX = 1000


def formatted(template: str, args: list[Any]) -> str:
    """The template with `%s`, `%d`, `%f`, `%e`, `%b`, `%x`, `%X`, `%o` replaced by the arguments."""
    remaining = iter(args)

    def replaced(match: re.Match[str]) -> str:
        precision, verb = match.groups()
        if verb is None:
            return "%"
        write = _VERBS.get(verb)
        if write is None:
            raise EvaluationError(
                f'could not parse formatting clause: unrecognized formatting clause "{verb}"'
            )
        try:
            value = next(remaining)
        except StopIteration:
            raise EvaluationError(f"index {len(args)} out of range") from None
        digits = 6 if precision is None else whole_number(precision, high=_PRECISION_MAX)
        if digits is None:
            raise EvaluationError("error during formatting: precision is too large")
        return write(value, digits)

    return _CLAUSE.sub(replaced, template)


def _whole(value: Any) -> int:
    if type(value) not in (int, UInt):
        raise EvaluationError(
            "error during formatting: decimal clause can only be used on integers, was given "
            + name_of(value)
        )
    return int(value)


def _number(value: Any) -> float:
    if type(value) not in (int, UInt, float):
        raise EvaluationError(
            "error during formatting: fixed-point clause can only be used on doubles, was given "
            + name_of(value)
        )
    return float(value)


def _binary(value: Any, _: int) -> str:
    return str(int(value)) if isinstance(value, bool) else f"{_whole(value):b}"


def _hexadecimal(value: Any, _: int) -> str:
    if isinstance(value, str):
        return value.encode().hex()
    return value.hex() if isinstance(value, bytes) else f"{_whole(value):x}"


def text_of(value: Any) -> str:
    """Any value as `%s` shows it."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (Duration, Timestamp, TypeValue)):
        return str(value)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, list):
        return f"[{', '.join(map(text_of, value))}]"
    if isinstance(value, dict):
        members = sorted((text_of(key), text_of(member)) for key, member in value.items())
        return f"{{{', '.join(f'{key}: {member}' for key, member in members)}}}"
    raise EvaluationError(f"error during formatting: string clause can not be used on {name_of(value)}")


_VERBS: Mapping[str, Callable[[Any, int], str]] = {
    "s": lambda value, _: text_of(value),
    "d": lambda value, _: str(_whole(value)),
    "f": lambda value, digits: f"{_number(value):.{digits}f}",
    "e": lambda value, digits: f"{_number(value):.{digits}e}",
    "b": _binary,
    "x": _hexadecimal,
    "X": lambda value, digits: _hexadecimal(value, digits).upper(),
    "o": lambda value, _: f"{_whole(value):o}",
}
