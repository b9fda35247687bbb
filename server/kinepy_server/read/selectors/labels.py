"""Label selectors (SEL-1..3): grammar, error texts, and a compiled predicate over an object's labels.

selector    = [ requirement *( "," requirement ) ]
requirement = ["!"] key / key ("=" / "==" / "!=" / ">" / "<") [value] / key ("in" / "notin") "(" [values] ")"
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kinepy_server.read.selectors.label_syntax import key_problems, value_problems

Labels = Mapping[str, str]
Predicate = Callable[[Labels], bool]

INTEGER_BITS = 63
_token = re.compile(r"[ \t\r\n]*(==|!=|[=!()<>,]|[^ \t\r\n=!()<>,]+|$)")
_integer = re.compile(r"[+-]?[0-9]+", re.ASCII)
_SYMBOLS = frozenset(("", ",", "(", ")", "!", "=", "==", "!=", ">", "<"))
_EQUAL = frozenset(("=", "=="))
_EXACT = frozenset(("=", "==", "!=", ">", "<"))
_SET = frozenset(("in", "notin"))
_BINARY_OPERATORS = "in, notin, =, ==, !=, gt, lt"


class LabelSelectorError(ValueError):
    """The selector cannot be parsed; the text is what the client sees."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One term. `operator` is one of exists, absent, in, notin, >, <; `values` are sorted."""

    key: str
    operator: str
    values: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A parsed selector: an object matches when its labels meet every requirement."""

    requirements: Sequence[Requirement]
    matches: Predicate


@lru_cache(maxsize=1024)
def parse_labels(text: str) -> LabelSelector | None:
    """The selector, or None for one that selects everything. Raises `LabelSelectorError`."""
    requirements = _Parser(text).requirements()
    if not requirements:
        return None
    return LabelSelector(requirements, _conjunction([compile_requirement(r) for r in requirements]))


def compile_requirement(requirement: Requirement) -> Predicate:
    """The predicate of one term. A missing key meets absent and notin, and nothing else (SEL-2)."""
    key, values = requirement.key, frozenset(requirement.values)
    match requirement.operator:
        case "exists":
            return lambda labels: key in labels
        case "absent":
            return lambda labels: key not in labels
        case "in":
            return lambda labels: labels.get(key) in values
        case "notin":
            return lambda labels: labels.get(key) not in values
        case _:
            return _ordering(requirement)


def _ordering(requirement: Requirement) -> Predicate:
    key, bound, greater = requirement.key, int(requirement.values[0]), requirement.operator == ">"

    def compare(labels: Labels) -> bool:
        value = integer(labels.get(key, ""))
        return value is not None and (value > bound if greater else value < bound)

    return compare


def integer(text: str) -> int | None:
    """The number that a decimal text of at most 64 bits means; None for any other text."""
    if not _integer.fullmatch(text) or len(text) > NUMBER_CHARACTERS_MAX:
        return None
    value = int(text)
    return value if -(1 << INTEGER_BITS) <= value < (1 << INTEGER_BITS) else None


NUMBER_CHARACTERS_MAX = 64
"""Label values are no longer than that, so neither is a number among them."""


def _conjunction(predicates: Sequence[Predicate]) -> Predicate:
    if len(predicates) == 1:
        return predicates[0]
    return lambda labels: all(predicate(labels) for predicate in predicates)


class _Parser:
    """Recursive descent over the tokens of one selector. A token is its text; the end is the empty text."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._at = 0

    def _peek(self) -> str:
        return self._tokens[self._at]

    def _take(self) -> str:
        token = self._tokens[self._at]
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        if not self._peek():
            return found
        if not _starts_requirement(self._peek()):
            raise LabelSelectorError(f"found '{self._peek()}', expected: !, identifier, or 'end of string'")
        while True:
            try:
                found.append(self._requirement())
            except LabelSelectorError as error:
                raise LabelSelectorError(f"unable to parse requirement: {error}") from None
            separator = self._take()
            if not separator:
                return found
            if separator != ",":
                raise LabelSelectorError(f"found '{separator}', expected: ',' or 'end of string'")
            if not _starts_requirement(self._peek()):
                raise LabelSelectorError(f"found '{self._peek()}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        negated = self._peek() == "!"
        if negated:
            self._take()
        key = self._take()
        if key in _SYMBOLS:
            raise LabelSelectorError(f"found '{key}', expected: identifier")
        _check_key(key)
        if negated or self._peek() in ("", ","):
            # As in the original, what follows a negated key is left for the caller to refuse.
            return Requirement(key, "absent" if negated else "exists")
        operator = self._take()
        if operator in _SET:
            return _checked(key, operator, self._value_list())
        if operator in _EXACT:
            return _checked(key, operator, [self._exact_value()])
        raise LabelSelectorError(f"found '{operator}', expected: {_BINARY_OPERATORS}")

    def _exact_value(self) -> str:
        if self._peek() in ("", ","):
            return ""
        value = self._take()
        if value in _SYMBOLS:
            raise LabelSelectorError(f"found '{value}', expected: identifier")
        return value

    def _value_list(self) -> list[str]:
        opening = self._take()
        if opening != "(":
            raise LabelSelectorError(f"found '{opening}' expected: '('")
        if self._peek() not in (",", ")") and self._peek() in _SYMBOLS:
            raise LabelSelectorError(f"found '{self._peek()}', expected: ',', ')' or identifier")
        values: list[str] = []
        while True:
            # Between two separators stands a value; nothing there is the empty value.
            values.append("" if self._peek() in (",", ")") else self._take())
            separator = self._take()
            if separator == ")":
                return values
            if separator != ",":
                raise LabelSelectorError(f"found '{separator}', expected: ',' or ')'")
            if self._peek() not in (",", ")") and self._peek() in _SYMBOLS:
                raise LabelSelectorError(f"found '{self._peek()}', expected: ',', or identifier")


def _tokens(text: str) -> list[str]:
    tokens = [match.group(1) for match in _token.finditer(text.partition("\0")[0])]
    return tokens if tokens and not tokens[-1] else [*tokens, ""]


def _starts_requirement(token: str) -> bool:
    return token == "!" or token not in _SYMBOLS


def _check_key(key: str) -> None:
    problems = key_problems(key)
    if problems:
        raise LabelSelectorError(f"<nil>: Invalid value: {_quoted(key)}: {'; '.join(problems)}")


def _checked(key: str, operator: str, values: Sequence[str]) -> Requirement:
    ordered = sorted(set(values), key=str.encode)
    errors = []
    if operator in (">", "<") and integer(ordered[0]) is None:
        problem = "for 'Gt', 'Lt' operators, the value must be an integer"
        errors.append(f"values[0]: Invalid value: {_quoted(ordered[0])}: {problem}")
    for position, value in enumerate(ordered):
        problems = value_problems(value)
        if problems:
            errors.append(
                f"values[{position}][{key}]: Invalid value: {_quoted(value)}: {'; '.join(problems)}"
            )
    if errors:
        raise LabelSelectorError(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
    named = "in" if operator in _EQUAL else "notin" if operator == "!=" else operator
    return Requirement(key, named, ordered)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
