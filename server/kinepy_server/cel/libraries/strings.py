"""Functions on strings beyond the language's own."""

import re
from collections.abc import Sequence
from typing import Any

from kinepy_server.cel.errors import CostExceeded, EvaluationError
from kinepy_server.cel.libraries.formatting import formatted
from kinepy_server.cel.regular import compiled
from kinepy_server.cel.signatures import elements, expression, search, table, traverse

_BLANK = re.compile(r"\A\s+|\s+\Z")
_CHARACTERS_MAX = 10_000_000
_QUOTED = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
_QUOTED |= {"\\": "\\\\", '"': '\\"'}


def _char_at(text: str, position: int) -> str:
    if not 0 <= position <= len(text):
        raise EvaluationError(f"index out of range: {position}")
    return text[position : position + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if not 0 <= start <= len(text):
        raise EvaluationError(f"index out of range: {start}")
    return text.find(part, start)


def _last_index_of(text: str, part: str, last: int | None = None) -> int:
    if last is None:
        return text.rfind(part)
    if not 0 <= last <= len(text):
        raise EvaluationError(f"index out of range: {last}")
    return text.rfind(part, 0, last + len(part))


def _ascii_lower(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_LOWER)


def _ascii_upper(text: str) -> str:
    return text.upper() if text.isascii() else text.translate(_UPPER)


_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}


def _replace(text: str, old: str, new: str, count: int = -1) -> str:  # noqa: PLR0917 as it is called
    times = text.count(old) if count < 0 else count
    _check_size(len(text) + times * len(new))
    return text.replace(old, new, count)


def _check_size(characters: int) -> None:
    """Texts could be made that do not fit in memory, by a call that costs little."""
    if characters > _CHARACTERS_MAX:
        raise CostExceeded


def _split(text: str, separator: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if not separator:
        characters = list(text)
        return characters if count < 0 else [*characters[: count - 1], text[count - 1 :]][:count]
    return text.split(separator, -1 if count < 0 else count - 1)


def _substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if start < 0 or stop > len(text) or (end is None and start > stop):
        raise EvaluationError(f"index out of range: {start if start < 0 or end is None else stop}")
    if start > stop:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {stop}")
    return text[start:stop]


def _trim(text: str) -> str:
    return _BLANK.sub("", text)


def _join(parts: Sequence[Any], separator: str = "") -> str:
    if not all(isinstance(part, str) for part in parts):
        raise EvaluationError("no such overload")
    _check_size(sum(map(len, parts)) + len(separator) * len(parts))
    return separator.join(parts)


def _quote(text: str) -> str:
    return '"' + "".join(_QUOTED.get(character, character) for character in text) + '"'


def _escape_key(text: str) -> str:
    return text.replace("~", "~0").replace("/", "~1")


def _find(text: str, pattern: str) -> str:
    match = compiled(pattern).search(text)
    return match.group() if match is not None else ""


def _find_all(text: str, pattern: str, count: int = -1) -> list[str]:
    found = []
    if count:
        for match in compiled(pattern).finditer(text):
            found.append(match.group())
            if len(found) == count:
                break
    return found


FUNCTIONS = [
    *table(
        {
            "charAt(int) -> string": _char_at,
            "indexOf(string) -> int": (_index_of, search),
            "indexOf(string, int) -> int": (_index_of, search),
            "lastIndexOf(string) -> int": (_last_index_of, search),
            "lastIndexOf(string, int) -> int": (_last_index_of, search),
            "lowerAscii() -> string": (_ascii_lower, traverse),
            "upperAscii() -> string": (_ascii_upper, traverse),
            "replace(string, string) -> string": (_replace, traverse),
            "replace(string, string, int) -> string": (_replace, traverse),
            "split(string) -> list<string>": (_split, traverse),
            "split(string, int) -> list<string>": (_split, traverse),
            "substring(int) -> string": (_substring, traverse),
            "substring(int, int) -> string": (_substring, traverse),
            "trim() -> string": (_trim, traverse),
            "format(list<dyn>) -> string": (formatted, traverse),
            "find(string) -> string": (_find, expression),
            "findAll(string) -> list<string>": (_find_all, expression),
            "findAll(string, int) -> list<string>": (_find_all, expression),
        },
        methods_of="string",
    ),
    *table(
        {
            "list<string>.join() -> string": (_join, elements),
            "list<string>.join(string) -> string": (_join, elements),
            "strings.quote(string) -> string": (_quote, traverse),
            "jsonpatch.escapeKey(string) -> string": (_escape_key, traverse),
        }
    ),
]
