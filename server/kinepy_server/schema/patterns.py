"""Regular expressions of schemas: RE2's, as in the original, so that no pattern can take for ever."""

import re
from collections.abc import Callable
from functools import lru_cache, partial

import re2

_CACHED_CHARACTERS_MAX, _CACHED_TEXTS_MAX = 256, 128
_OPTIONS = re2.Options()
_OPTIONS.log_errors = False
_WORDS = {
    "missing ):": "missing closing )",
    "missing ]:": "missing closing ]",
    "unexpected ):": "unexpected )",
    "no argument for repetition operator:": "missing argument to repetition operator",
    "bad repetition operator:": "invalid nested repetition operator",
    "invalid repetition size:": "invalid repeat count",
    "invalid perl operator:": "invalid or unsupported Perl syntax",
    "invalid named capture group:": "invalid named capture",
}
"""RE2's words -> those of the original's library for the same error."""


_DEPTH_MAX = 1000
"""Groups within groups from here on are refused by the original's library, and not by RE2."""
_GROUPING = re.compile(r"\\.|[()]", re.DOTALL)
_SINGLE_BYTE = re.compile(r"(?<!\\)(?:\\\\)*\\C")
"""What RE2 knows beyond it."""


class BadPattern(ValueError):
    """A text that is no regular expression; the words are the original's."""


@lru_cache(maxsize=4096)
def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a text holds a match of a pattern. Raises BadPattern."""
    try:
        compiled = re2.compile(pattern, _OPTIONS)
    except re2.error as error:
        raise BadPattern(_in_go(error, pattern)) from None
    if pattern.count("(") >= _DEPTH_MAX and _depth(pattern) >= _DEPTH_MAX:
        raise BadPattern(f"error parsing regexp: expression nests too deeply: `{pattern}`")
    if _SINGLE_BYTE.search(pattern):
        raise BadPattern("error parsing regexp: invalid escape sequence: `\\C`")
    search = partial(_search, compiled)
    cached = lru_cache(maxsize=_CACHED_TEXTS_MAX)(search)
    return lambda text: cached(text) if len(text) <= _CACHED_CHARACTERS_MAX else search(text)


def _search(compiled: "re2._Regexp[str]", text: str) -> bool:
    return compiled.search(text) is not None


def _depth(pattern: str) -> int:
    depth = deepest = 0
    for match in _GROUPING.finditer(pattern):
        depth += (match[0] == "(") - (match[0] == ")")
        deepest = max(deepest, depth)
    return deepest


def _in_go(error: Exception, pattern: str) -> str:
    found = error.args[0] if error.args else ""
    text = found.decode("utf-8", "replace") if isinstance(found, bytes) else str(found)
    if text.startswith("pattern too large"):
        return f"error parsing regexp: expression too large: `{pattern}`"
    if text.startswith("trailing \\"):
        return "error parsing regexp: trailing backslash at end of expression: ``"
    for theirs, words in _WORDS.items():
        if text.startswith(theirs):
            return f"error parsing regexp: {words}: `{text[len(theirs) :].strip()}`"
    words, colon, what = text.partition(": ")
    return f"error parsing regexp: {words}: `{what}`" if colon else f"error parsing regexp: {text}"
